import { Injectable } from '@nestjs/common';
import { DataSource, type EntityManager } from 'typeorm';
import { type Queryable, queryRow, queryRows } from '../../database';
import { MissingProxiesChanged } from '../sync.errors';
import type { MissingProxiesOut } from './sweep.dto';

/** SQL condition for proxies missing from two listings in a row and not yet withdrawn. */
const MISSING = 'absences = 2 AND withdrawn_at IS NULL AND date_end > now()';

/** Locks in id order, like every statement that changes proxies, to prevent deadlocks. */
const lockMissing = (condition = 'true'): string => `WITH locked AS MATERIALIZED (
         SELECT id FROM proxies WHERE ${MISSING} AND ${condition} ORDER BY id FOR NO KEY UPDATE
       )`;

/** Withdraws proxies that are missing at the provider. They are inactive until they are listed again. */
@Injectable()
export class MissingProxiesService {
  constructor(private readonly dataSource: DataSource) {}

  countMissing(queryable: Queryable = this.dataSource): Promise<MissingProxiesOut> {
    return queryRow(
      queryable,
      `SELECT count(*) AS proxies, count(DISTINCT user_id) AS users FROM proxies WHERE ${MISSING}`,
    );
  }

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
   * Sets absences to 3, so that the next sweep does not count the proxies as newly withdrawn.
   * @throws MissingProxiesChanged if the number of missing proxies is not `expected`
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
