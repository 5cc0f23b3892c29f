import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import { queryRows } from '../database';
import { type Page, type PageRequest, readPage } from '../http';
import type { RenewalOut } from './renewal.dto';

/** Lists a customer's renewals with their outcomes. */
@Injectable()
export class RenewalLists {
  constructor(private readonly dataSource: DataSource) {}

  /** A page of a user's renewals, newest first. The cursor is the last id of the previous page. */
  list(userId: number, page: PageRequest): Promise<Page<RenewalOut>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<RenewalOut>(
        this.dataSource,
        `SELECT id, proxy_id::text AS proxy_id, rule_id, date_end_before AS date_end, state, reason, period,
                  price, order_id, due_at, next_try_at, charged_at
             FROM renewals WHERE user_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3`,
        [userId, cursor ?? Number.MAX_SAFE_INTEGER, limit],
      ),
    );
  }
}
