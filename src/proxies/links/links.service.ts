import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource, type EntityManager } from 'typeorm';
import { type Caller, generateSecret, hexHashOf, InvalidToken, isWellFormedSecret } from '../../auth';
import { atMost, Clock, isWithin, liesWithin } from '../../common';
import { AppConfig } from '../../config';
import { batchedLookup, changeOfUser, preparedRows, queryRow, queryRows } from '../../database';
import { type Page, type PageRequest, readPage } from '../../http';
import { type RetentionStep, STEP_ROWS } from '../../jobs';
import { type FormatName } from '../export/formats';
import { type ExportOptions } from '../export/proxy-export.service';
import { type ProxyFilter } from '../filter/proxy-filter';
import { type ProxyFilterBody, toProxyFilter } from '../filter/proxy-filter.query';
import type { CreatedLink, LinkOut } from './link-out.dto';
import {
  FormatBesideTemplate,
  LinkExpiryInPast,
  LinkNotFound,
  LinksDisabled,
  LinkWiderThanToken,
  SecretLinkNotFound,
  TooManyLinks,
} from './links.errors';
import type { NewLinkRequest } from './new-link.request';

/** If `networks` is null, any address is allowed. */
type Bounds = Pick<NewLinkRequest, 'expires_at' | 'networks'>;

/** Link that is valid now. */
export interface OpenLink {
  readonly id: number;
  readonly userId: number;
  /** Increases with every visible change to the user's proxies. */
  readonly proxiesRevision: number;
  readonly options: ExportOptions;
}

interface FoundLink extends Omit<OpenLink, 'options'> {
  /** Null if there is a template. */
  readonly format: FormatName | null;
  readonly template: string | null;
  readonly filter: StoredFilter;
  readonly networks: readonly string[] | null;
  readonly hash: string;
}

/** Filter as requested, in JSON without nulls. */
type StoredFilter = Partial<Omit<ProxyFilterBody, 'ends_before'> & { readonly ends_before: string }>;

/** Maximum number of link/address pairs kept in memory, at about 200 bytes each. */
const MAX_KNOWN = 20_000;

const DAY_MS = 24 * 3600 * 1000;
/** Expired links stay listed, so that customers see which of them a program still fetches. */
const EXPIRED_LINK_DAYS = 30;

/** SQL for the earlier of the link's expiry and its token's revocation; null if there is neither. */
const EXPIRED_AT = 'least(link.expires_at, token.revoked_at)';

/** SQL columns of a LinkOut. `$1` is the current time. */
const SHOWN = `
  link.id, link.name, link.format, link.template, link.filter, link.networks, link.token_id,
  CASE WHEN token.revoked_at IS NOT NULL THEN 'revoked'
       WHEN link.expires_at <= $1 THEN 'expired' ELSE 'active' END AS state,
  link.created_at, link.expires_at, link.last_used_at, link.uses`;

@Injectable()
export class LinksService {
  private readonly known = new LRUCache<string, true>(atMost(MAX_KNOWN));

  constructor(
    private readonly dataSource: DataSource,
    private readonly config: AppConfig,
    private readonly clock: Clock,
  ) {}

  /**
   * Returns the link with its secret. A link can never do more than the token that creates it.
   * @throws FormatBesideTemplate, LinksDisabled, LinkExpiryInPast, LinkWiderThanToken, TooManyLinks,
   * InvalidToken
   */
  async create(caller: Caller, link: NewLinkRequest): Promise<CreatedLink> {
    const { template, format } = link;
    if (template !== null && format !== 'json') throw new FormatBesideTemplate(template);
    const { maxPerUser } = this.config.links;
    if (maxPerUser === 0) throw new LinksDisabled();
    const now = this.clock.now();
    if (link.expires_at && link.expires_at <= now) throw new LinkExpiryInPast();
    const secret = generateSecret('link');
    // The lock on the user keeps concurrent requests from exceeding the limit together.
    const created = await changeOfUser(this.dataSource, caller.userId, async (manager) => {
      const bounds = await this.withinToken(caller.tokenId, link, manager);
      await this.makeRoom(caller.userId, maxPerUser, manager);
      return queryRow<LinkOut>(
        manager,
        `WITH link AS (
           INSERT INTO export_links
             (user_id, token_id, secret_hash, name, format, template, filter, networks, expires_at)
           SELECT $2, $3, $4::bytea, $5, $6, $7, $8::jsonb,
                  (SELECT array_agg(network(address) ORDER BY place)
                     FROM unnest($9::inet[]) WITH ORDINALITY AS given (address, place)), $10
           RETURNING *
         )
         SELECT ${SHOWN} FROM link JOIN api_tokens token ON token.id = link.token_id`,
        [
          now,
          caller.userId,
          caller.tokenId,
          `\\x${hexHashOf(secret)}`,
          link.name,
          template === null ? format : null,
          template,
          storedFilter(link.filter),
          bounds.networks,
          bounds.expires_at,
        ],
      );
    });
    return Object.assign(created, { url: `${this.config.server.publicUrl ?? ''}/l/${secret}` });
  }

  /** Returns the requested bounds or, if omitted, the token's. @throws LinkWiderThanToken, InvalidToken */
  private async withinToken(
    tokenId: number,
    { expires_at: expiresAt, networks }: Bounds,
    manager: EntityManager,
  ): Promise<Bounds> {
    const [token] = await queryRows<Bounds>(
      manager,
      'SELECT expires_at, allowed_ips AS networks FROM api_tokens WHERE id = $1 AND revoked_at IS NULL',
      [tokenId],
    );
    if (!token) throw new InvalidToken();
    const { networks: allowed, expires_at: end } = token;
    const wider = [
      end && expiresAt && expiresAt > end && 'expires_at',
      allowed && networks?.some((network) => !liesWithin(allowed, network)) && 'networks',
    ].filter((field) => typeof field === 'string');
    if (wider.length > 0) throw new LinkWiderThanToken(wider);
    return { expires_at: expiresAt ?? end, networks: networks ?? allowed };
  }

  /** Removes expired links if the user has reached the limit. @throws TooManyLinks */
  private async makeRoom(userId: number, maxPerUser: number, manager: EntityManager): Promise<void> {
    const { count } = await queryRow<{ count: number }>(
      manager,
      'SELECT count(*) AS count FROM export_links WHERE user_id = $1',
      [userId],
    );
    const tooMany = count + 1 - maxPerUser;
    if (tooMany <= 0) return;
    const removed = await queryRows(
      manager,
      `DELETE FROM export_links WHERE id IN (
         SELECT link.id FROM export_links link JOIN api_tokens token ON token.id = link.token_id
          WHERE link.user_id = $1 AND ${EXPIRED_AT} <= $2 ORDER BY ${EXPIRED_AT} LIMIT $3)
       RETURNING id`,
      [userId, this.clock.now(), tooMany],
    );
    if (removed.length < tooMany) throw new TooManyLinks(maxPerUser);
  }

  /** Deletes links that expired long ago. Each step reads the same number of links, expired or not. */
  forgetExpired(after: number): Promise<RetentionStep<number>> {
    return queryRow<RetentionStep<number>>(
      this.dataSource,
      `WITH walked AS (
         SELECT link.id, coalesce(${EXPIRED_AT} < $1, false) AS is_over
           FROM (SELECT * FROM export_links WHERE id > $2 ORDER BY id LIMIT $3) AS link
           JOIN api_tokens token ON token.id = link.token_id
       ), removed AS (
         DELETE FROM export_links WHERE id IN (SELECT id FROM walked WHERE is_over) RETURNING 1
       )
       SELECT (SELECT count(*) FROM removed) AS removed, (SELECT max(id) FROM walked) AS next`,
      [new Date(this.clock.now().getTime() - EXPIRED_LINK_DAYS * DAY_MS), after, STEP_ROWS],
    );
  }

  list(userId: number, page: PageRequest): Promise<Page<LinkOut>> {
    return readPage(page, ({ cursor, limit }) =>
      queryRows<LinkOut>(
        this.dataSource,
        `SELECT ${SHOWN} FROM export_links link JOIN api_tokens token ON token.id = link.token_id
            WHERE link.user_id = $2 AND link.id > $3 ORDER BY link.id LIMIT $4`,
        [this.clock.now(), userId, cursor ?? 0, limit],
      ),
    );
  }

  /** @throws LinkNotFound */
  async get(userId: number, id: number): Promise<LinkOut> {
    const [link] = await queryRows<LinkOut>(
      this.dataSource,
      `SELECT ${SHOWN} FROM export_links link JOIN api_tokens token ON token.id = link.token_id
        WHERE link.user_id = $2 AND link.id = $3`,
      [this.clock.now(), userId, id],
    );
    if (!link) throw new LinkNotFound();
    return link;
  }

  /** Takes effect immediately on every replica. @throws LinkNotFound */
  async delete(userId: number, id: number): Promise<void> {
    const deleted = await queryRows(
      this.dataSource,
      'DELETE FROM export_links WHERE user_id = $1 AND id = $2 RETURNING id',
      [userId, id],
    );
    if (deleted.length === 0) throw new LinkNotFound();
  }

  /** Always reads the database, so that an expiry applies immediately. @throws SecretLinkNotFound */
  async open(secret: string, address: string | null): Promise<OpenLink> {
    if (this.config.links.maxPerUser === 0 || !isWellFormedSecret('link', secret)) {
      throw new SecretLinkNotFound();
    }
    const hash = hexHashOf(secret);
    const link = await this.findLink(hash);
    const use = `${hash} ${address}`;
    if (!link || (link.networks && !isWithin(link.networks, address))) {
      this.known.delete(use);
      throw new SecretLinkNotFound();
    }
    this.known.set(use, true);
    return toOpenLink(link);
  }

  /** Whether an address has opened a link before. Only lifts the failure limit; grants no access. */
  opened(secret: string, address: string | null): boolean {
    return isWellFormedSecret('link', secret) && this.known.has(`${hexHashOf(secret)} ${address}`);
  }

  private readonly findLink = batchedLookup(async (hashes: readonly string[]) => {
    const rows = await preparedRows<FoundLink>(
      this.dataSource,
      `SELECT link.id, link.user_id AS "userId", format, template, filter, networks,
              proxies_revision AS "proxiesRevision", encode(secret_hash, 'hex') AS hash
         FROM export_links link
         JOIN api_tokens token ON token.id = link.token_id
         JOIN users ON users.id = link.user_id
        WHERE secret_hash = ANY ($1::bytea[]) AND (link.expires_at IS NULL OR link.expires_at > $2)
          AND token.revoked_at IS NULL AND users.blocked_at IS NULL`,
      [hashes.map((hash) => `\\x${hash}`), this.clock.now()],
    );
    return new Map(rows.map((link) => [link.hash, link]));
  });
}

const storedFilter = (filter: ProxyFilterBody | null): string =>
  JSON.stringify(Object.fromEntries(Object.entries(filter ?? {}).filter(([, value]) => value !== null)));

function toOpenLink({ id, userId, proxiesRevision, format, template, filter }: FoundLink): OpenLink {
  const options = { format: format ?? 'json', template, filter: readFilter(filter) } as const;
  return { id, userId, proxiesRevision, options };
}

const readFilter = ({ ends_before: endsBefore, ...others }: StoredFilter): ProxyFilter =>
  toProxyFilter({ ...others, ends_before: endsBefore === undefined ? null : new Date(endsBefore) });
