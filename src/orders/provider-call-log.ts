import { Injectable, Logger } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { messageOf } from '../common';
import { mayHaveCommitted, queryRows, resolveCommitOutcome } from '../database';
import type { ProviderCallRecord } from '../provider';

/** Records the provider calls made for orders, so that staff can see them. */
@Injectable()
export class ProviderCallLog {
  private readonly logger = new Logger(ProviderCallLog.name);

  constructor(private readonly dataSource: DataSource) {}

  /** Stores the records of the provider calls that `work` makes, except one that `work` has stored itself. */
  async record<Result>(
    orderId: number,
    work: (onCall: (record: ProviderCallRecord) => void, calls: OrderCallRecorder) => Promise<Result>,
  ): Promise<Result> {
    const calls = new OrderCallRecorder(orderId);
    try {
      return await work((record) => calls.records.push(record), calls);
    } finally {
      await this.store(calls);
    }
  }

  private async store(calls: OrderCallRecorder): Promise<void> {
    const { orderId } = calls;
    try {
      // Do not store the first record twice, because staff would take one purchase for two.
      const isFirstStored = calls.isFirstStored || (await this.isFirstStored(calls));
      for (const record of isFirstStored ? calls.records.slice(1) : calls.records) {
        const parameters = callParameters({ orderId, record });
        await queryRows(this.dataSource, `WITH ${recordCallSql('$1', '$2')} SELECT`, parameters);
      }
    } catch (error) {
      this.logger.error(
        `order ${orderId}: could not store the record of a provider call: ${messageOf(error)}`,
      );
    }
  }

  /** Finds out whether the first record was stored although its statement's reply was lost. */
  private async isFirstStored({ orderId, records: [first], lost }: OrderCallRecorder): Promise<boolean> {
    if (!lost || !first) return false;
    return resolveCommitOutcome(this.dataSource, lost, async () => {
      const found = await queryRows(
        this.dataSource,
        `SELECT FROM provider_calls
          WHERE order_id = $1 AND method = $2 AND duration_ms = $3 AND response = $4`,
        [orderId, first.method, first.durationMs, JSON.stringify(first.response)],
      );
      return found.length > 0;
    });
  }
}

export class OrderCallRecorder {
  readonly records: ProviderCallRecord[] = [];
  isFirstStored = false;
  /** Error of the statement that stores the first call's record, if the statement may have committed. */
  lost: unknown;

  constructor(readonly orderId: number) {}

  /** Runs a statement that stores the first call's record together with the call's delivery. */
  async storeFirstBy<Result>(
    statement: (call: RecordedCall | undefined) => Promise<Result>,
  ): Promise<Result> {
    const [record] = this.records;
    try {
      const result = await statement(record && { orderId: this.orderId, record });
      this.isFirstStored = true;
      return result;
    } catch (error) {
      if (mayHaveCommitted(error)) this.lost = error;
      throw error;
    }
  }
}

export interface RecordedCall {
  readonly orderId: number;
  readonly record: ProviderCallRecord;
}

/** Takes the placeholders, e.g. `$4`, of the two values from {@link callParameters}. */
export const recordCallSql = (call: string, response: string): string => `
       recorded AS (
         INSERT INTO provider_calls
           (order_id, method, request, outcome, http_status, response, duration_ms)
         SELECT order_id, method, request, outcome, http_status, ${response}::text, duration_ms
           FROM json_to_record(${call}::json) AS call (
                  order_id bigint, method text, request jsonb, outcome text, http_status integer,
                  duration_ms integer)
          WHERE order_id IS NOT NULL
       )`;

/** Passes the response as text: jsonb would refuse some characters, and PostgreSQL would parse it twice. */
export function callParameters(call: RecordedCall | undefined): [string | null, string | null] {
  if (!call) return [null, null];
  const { method, request, outcome, httpStatus, response, durationMs } = call.record;
  const about = { method, request, outcome, http_status: httpStatus, duration_ms: durationMs };
  return [JSON.stringify({ order_id: call.orderId, ...about }), JSON.stringify(response)];
}
