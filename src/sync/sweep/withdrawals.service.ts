import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { type Queryable, queryRow, queryRows } from '../../database';
import { MissingProxiesChanged } from '../sync.errors';
import type { MissingProxiesOut } from './sweep.dto';

/** Rented proxies that were missing from two listings in a row and are not withdrawn yet. */
const MISSING = 'absences = 2 AND withdrawn_at IS NULL AND date_end > now()';

/** Locks them in the order of ids, as every statement that changes proxies does: `WITH locked AS (…)`. */
const lockMissing = (condition = 'true'): string => `WITH locked AS MATERIALIZED (
         SELECT id FROM proxies WHERE ${MISSING} AND ${condition} ORDER BY id FOR NO KEY UPDATE
       )`;

/** Withdraws proxies that are missing at the provider: they are inactive until they are listed again. */
@Injectable()
export class WithdrawalsService {
  constructor(private readonly dataSource: DataSource) {}

  /** Counts the proxies that a decision of staff would withdraw. */
  countMissing(queryable: Queryable = this.dataSource): Promise<MissingProxiesOut> {
    return queryRow(
      queryable,
      `SELECT count(*) AS proxies, count(DISTINCT user_id) AS users FROM proxies WHERE ${MISSING}`,
    );
  }

  /** Withdraws proxies that are missing and not listed again. @returns how many */
  async withdraw(queryable: Queryable): Promise<number> {
    const withdrawn = await queryRows(
      queryable,
      `${lockMissing(`NOT EXISTS (SELECT FROM sweep_sightings sighted
                           WHERE sighted.provider_proxy_id = proxies.provider_proxy_id)`)}
       UPDATE proxies SET withdrawn_at = now(), active = false
        WHERE id = ANY (ARRAY(SELECT id FROM locked)) RETURNING id`,
    );
    await queryRows(queryable, 'SELECT refer_forgotten_refunds()');
    return withdrawn.length;
  }

  /**
   * Withdraws missing proxies by a decision of staff. A third absence marks these: the next sweep does not
   * count them as newly withdrawn.
   *
   * @param expected how many missing ones they have seen
   * @throws MissingProxiesChanged when the number has changed
   */
  async decide(expected: number, manager: EntityManager): Promise<void> {
    const withdrawn = await queryRows(
      manager,
      `${lockMissing()}
       UPDATE proxies SET withdrawn_at = now(), active = false, absences = 3
        WHERE id = ANY (ARRAY(SELECT id FROM locked)) RETURNING id`,
    );
    if (withdrawn.length !== expected) throw new MissingProxiesChanged();
    await queryRows(manager, 'SELECT refer_forgotten_refunds()');
  }
}
