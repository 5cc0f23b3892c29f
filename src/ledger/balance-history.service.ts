import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { Conditions, queryRow, queryRows } from '../database';
import { assertPeriod, type Page, type PageRequest, readPageBy } from '../http';
import type { BalanceChangeOut } from './balance-change.dto';
import type { LedgerFilterQuery } from './ledger.query';
import { SHOWN_KIND_SQL } from './shown-kind';

const COLUMNS = [
  'seq',
  'created_at',
  'kind',
  'order_id',
  'available_before',
  'available_delta',
  'available_after',
  'held_before',
  'held_delta',
  'held_after',
  'deposit_id',
] as const satisfies readonly (keyof BalanceChangeOut)[];

const DEPOSIT_ID = `coalesce(
  (SELECT deposit_id FROM payments WHERE payments.id = ledger_entries.payment_id),
  (SELECT deposit_id FROM deposit_refunds WHERE deposit_refunds.id = ledger_entries.refund_id)
) AS deposit_id`;

/** Customers do not see staff's reason and reference. */
const SHOWN = `
  seq, created_at, ${SHOWN_KIND_SQL} AS kind, order_id,
  available_after - available_delta AS available_before, available_delta, available_after,
  held_after - held_delta AS held_before, held_delta, held_after, ${DEPOSIT_ID}`;

/** SQL for a CSV line (RFC 4180). Numbers, times and kinds need no quotes, and are never formulas. */
const LINE = `format(E'${COLUMNS.map(() => '%s').join(',')}\\r\\n', ${COLUMNS.map((column) =>
  column === 'created_at' ? 'iso_text(created_at)' : column,
).join(', ')})`;

/** An entry's time may be out of `seq` order by at most this many entries. */
const MOST_OVERTAKEN = 1000;
const BATCH_SIZE = 1000;

@Injectable()
export class BalanceHistoryService {
  constructor(private readonly dataSource: DataSource) {}

  /** Returns a user's entries, newest first. @throws InvalidPeriod */
  listEntries(userId: number, filter: LedgerFilterQuery, page: PageRequest): Promise<Page<BalanceChangeOut>> {
    assertPeriod(filter.from, filter.to);
    const find = ({ cursor, limit }: PageRequest) => {
      const entries = selectEntries(userId, filter);
      entries.by(cursor, (seq) => `seq < ${seq}`);
      return queryRows<BalanceChangeOut>(
        this.dataSource,
        `SELECT ${SHOWN} FROM ledger_entries ${entries.toSql()}
          ORDER BY seq DESC LIMIT ${entries.given(limit)}`,
        entries.parameters,
      );
    };
    return readPageBy(page, find, ({ seq }) => seq);
  }

  /** Yields a user's entries as of the start of the call, as CSV, oldest first. @throws InvalidPeriod */
  async *writeCsv(userId: number, filter: LedgerFilterQuery): AsyncGenerator<string> {
    assertPeriod(filter.from, filter.to);
    const { seq: end } = await queryRow<{ seq: number }>(
      this.dataSource,
      'SELECT seq FROM accounts WHERE user_id = $1',
      [userId],
    );
    let head = `${COLUMNS.join(',')}\r\n`;
    for (let after = 0; ;) {
      const entries = selectEntries(userId, filter);
      entries.add(`seq > ${entries.given(after)} AND seq <= ${entries.given(end)}`);
      const { text, last }: { text: string | null; last: number } = await queryRow(
        this.dataSource,
        `SELECT string_agg(${LINE}, '') AS text, max(seq) AS last
           FROM (SELECT ${SHOWN} FROM ledger_entries ${entries.toSql()}
                  ORDER BY seq LIMIT ${BATCH_SIZE}) AS entry`,
        entries.parameters,
      );
      if (text === null) break;
      yield head + text;
      head = '';
      after = last;
    }
    if (head !== '') yield head;
  }
}

/**
 * Limits `seq` as well as the time. Otherwise, each page would read all entries of the period. The limits of
 * `seq` leave a margin: an entry's time is the start of its transaction, so times may be out of `seq` order.
 */
export function selectEntries(
  userId: number,
  { from, to, kind, order_id: orderId }: LedgerFilterQuery,
): Conditions {
  const entries = new Conditions();
  entries.add(`user_id = ${entries.given(userId)}`);
  const boundBy = (time: Date, isWithin: string, nearest: 'ASC' | 'DESC', bound: string): void => {
    const inPeriod = `created_at ${isWithin} ${entries.given(time)}`;
    entries.add(`${inPeriod} AND seq ${bound} FROM (
         SELECT seq FROM ledger_entries WHERE user_id = $1 AND ${inPeriod}
          ORDER BY created_at ${nearest}, seq ${nearest} LIMIT ${MOST_OVERTAKEN}) AS nearest)`);
  };
  if (from) boundBy(from, '>=', 'ASC', '>= (SELECT min(seq)');
  if (to) boundBy(to, '<', 'DESC', '<= (SELECT max(seq)');
  entries.by(kind, (name) => `${SHOWN_KIND_SQL} = ${name}`);
  entries.by(orderId, (id) => `order_id = ${id}`);
  return entries;
}
