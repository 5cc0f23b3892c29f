import { Injectable, Logger } from '@nestjs/common';
import { messageOf } from '../common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import type { ProviderCallRecord } from '../provider';
import { UpstreamCall } from './upstream-call.entity';

/** Keeps what was said to the upstream for an order, so that staff can see what happened. */
@Injectable()
export class UpstreamCallLog {
  private readonly logger = new Logger(UpstreamCallLog.name);

  constructor(@InjectRepository(UpstreamCall) private readonly calls: Repository<UpstreamCall>) {}

  /** Makes a call and keeps its record. The call's outcome comes through unchanged, also when the record cannot be kept. */
  async keep<Answer>(
    orderId: number,
    call: (onCall: (record: ProviderCallRecord) => void) => Promise<Answer>,
  ): Promise<Answer> {
    const records: ProviderCallRecord[] = [];
    try {
      return await call((record) => records.push(record));
    } finally {
      await this.store(orderId, records);
    }
  }

  private async store(orderId: number, records: readonly ProviderCallRecord[]): Promise<void> {
    try {
      await this.calls.insert(
        records.map((record) => ({ orderId, ...record, answer: record.answer as object })),
      );
    } catch (error) {
      this.logger.error(`order ${orderId}: a record of an upstream call was not kept: ${messageOf(error)}`);
    }
  }
}
