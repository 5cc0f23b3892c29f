import { Injectable } from '@nestjs/common';
import { DataSource } from 'typeorm';
import type { Caller } from '../../auth';
import { inQueueOf, queryRow, queryRows } from '../../database';
import { type BulkTarget, BulkTargetsService } from '../bulk-target/bulk-targets.service';
import { MAX_TAGS, normalLabel, normalTags } from '../filter/labels';
import type { LabelProxiesRequest, LabelProxiesResponse, LabelProxyRequest } from './labels.dto';
import { LimitedTokenCannotMoveRules, TooManyTags } from './labels.errors';

/** Undefined keeps the current value; null clears it. */
type LabelChange = LabelProxyRequest & Partial<Pick<LabelProxiesRequest, 'add_tags' | 'remove_tags'>>;

interface Labelled {
  readonly id: number;
  readonly isChanged: boolean;
  readonly hasTooMany: boolean;
  /** Whether the change selects another renewal rule, which a token with a daily limit must not do. */
  readonly isMoved: boolean;
}

/** Writes customers' labels and tags, which are never sent to the provider. */
@Injectable()
export class LabelsService {
  constructor(
    private readonly dataSource: DataSource,
    private readonly targets: BulkTargetsService,
  ) {}

  /** Changes all proxies or none. @throws TooManyTags, LimitedTokenCannotMoveRules, TooManyTargets */
  async changeAll(caller: Caller, target: BulkTarget, change: LabelChange): Promise<LabelProxiesResponse> {
    const targets = await this.targets.find(caller.userId, target);
    const labelled = await this.change(
      caller,
      targets.flatMap(({ proxy }) => (proxy ? [proxy.id] : [])),
      change,
    );
    const idsOf = (isChanged: boolean): string[] =>
      labelled.filter((proxy) => proxy.isChanged === isChanged).map(({ id }) => String(id));
    return {
      changed: idsOf(true),
      unchanged: idsOf(false),
      not_found: targets.flatMap(({ proxyId, proxy }) => (proxy ? [] : [proxyId])),
    };
  }

  /** @throws LimitedTokenCannotMoveRules if the label would change the renewal rule of the order's proxies */
  async assertMayLabel({ userId, dailyLimit }: Caller, country: string, label: string): Promise<void> {
    if (dailyLimit === null) return;
    const { isMoved } = await queryRow<{ isMoved: boolean }>(
      this.dataSource,
      `SELECT (SELECT rule.id FROM rule_of_proxy($1, NULL, $2, $3, '{}') AS rule)
         IS DISTINCT FROM (SELECT rule.id FROM rule_of_proxy($1, NULL, $2, NULL, '{}') AS rule) AS "isMoved"`,
      [userId, country, label],
    );
    if (isMoved) throw new LimitedTokenCannotMoveRules();
  }

  /**
   * Changes all proxies or none. Locks the rows in id order, so that requests neither lose added tags nor
   * deadlock.
   * @throws TooManyTags, LimitedTokenCannotMoveRules
   */
  async change(
    { userId, dailyLimit }: Caller,
    ids: readonly number[],
    change: LabelChange,
  ): Promise<Labelled[]> {
    const { descr: label, tags, add_tags: added, remove_tags: removed } = change;
    const labelled = await inQueueOf(userId, () =>
      queryRows<Labelled>(
        this.dataSource,
        `WITH locked AS MATERIALIZED (
         SELECT id, country, label, tags FROM proxies WHERE user_id = $1 AND id = ANY ($2::bigint[])
          ORDER BY id FOR NO KEY UPDATE
       ),
       labelled AS MATERIALIZED (
         SELECT id, CASE WHEN $3 THEN $4::text ELSE label END AS label,
                ARRAY(SELECT DISTINCT tag COLLATE "C" AS tag
                        FROM unnest(coalesce($5::text[], tags) || $6::text[]) AS tag
                       WHERE tag <> ALL ($7::text[]) ORDER BY 1) AS tags
           FROM locked
       ),
       moved AS (
         SELECT id FROM labelled JOIN locked USING (id)
          WHERE $8 AND (SELECT rule.id FROM rule_of_proxy($1, id, country, locked.label, locked.tags) AS rule)
            IS DISTINCT FROM
            (SELECT rule.id FROM rule_of_proxy($1, id, country, labelled.label, labelled.tags) AS rule)
       ),
       refused AS (
         SELECT id FROM labelled WHERE cardinality(tags) > ${MAX_TAGS}
       ),
       changed AS (
         UPDATE proxies SET label = labelled.label, tags = labelled.tags FROM labelled
          WHERE proxies.id = labelled.id
            AND NOT EXISTS (SELECT FROM refused) AND NOT EXISTS (SELECT FROM moved)
            AND (proxies.label, proxies.tags) IS DISTINCT FROM (labelled.label, labelled.tags)
         RETURNING proxies.id
       )
       SELECT id, id IN (SELECT id FROM changed) AS "isChanged",
              id IN (SELECT id FROM refused) AS "hasTooMany", id IN (SELECT id FROM moved) AS "isMoved"
         FROM labelled ORDER BY id`,
        [
          userId,
          ids,
          label !== undefined,
          label ? normalLabel(label) : null,
          tags === undefined ? null : normalTags(tags ?? []),
          normalTags(added ?? []),
          normalTags(removed ?? []),
          dailyLimit !== null,
        ],
      ),
    );
    if (labelled.some(({ hasTooMany }) => hasTooMany)) throw new TooManyTags();
    if (labelled.some(({ isMoved }) => isMoved)) throw new LimitedTokenCannotMoveRules();
    return labelled;
  }
}
