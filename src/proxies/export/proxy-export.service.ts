import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import { ConcurrencyLimit, inSlices } from '../../common';
import { preparedRows, queryRows } from '../../database';
import { RequestsUnderWay } from '../../http';
import type { ProxyOut } from '../dto/proxy-out.dto';
import { isUnfiltered, type ProxyFilter, proxyFilterSql } from '../filter/proxy-filter';
import type { ListRevision } from '../list-revision.service';
import { type ExportFormat, type ExportLayout, formatOf } from './formats';

export interface ExportOptions extends ExportLayout {
  readonly filter: ProxyFilter;
}

interface Wanted {
  readonly revision: ListRevision;
  readonly options: ExportOptions;
  readonly format: ExportFormat;
}

/** Returns a key for everything that determines an export's text, except the list revision. */
export const variantOf = ({ format, template, socks, filter }: ExportOptions): string =>
  `${format} ${socks ?? 'socks5h'} ${JSON.stringify(filter)}${template === null ? '' : ` ${template}`}`;

/** Whether a filter uses only the type and `active`. Such filters are few, so their exports are cached. */
const isUsual = ({ proxyType: _type, active: _active, ...others }: ProxyFilter): boolean =>
  isUnfiltered(others);

/** Whether PostgreSQL renders this format. Other formats are rendered on the main thread. */
const isByDatabase = ({ write }: ExportFormat): boolean => typeof write === 'string';

/** Whether an export belongs to the fixed part of the API contract. Such exports are never refused. */
const isSpecified = ({ format, options }: Wanted): boolean => isByDatabase(format) && isUsual(options.filter);

/** Enough for lists with 100,000 proxies in total. */
const CACHE_BYTES = 26 * 1024 * 1024;
/** Overhead of a cached export. */
const ENTRY_BYTES = 512;
/** About 2 MB as JSON. A larger export would evict many others. */
const MAX_CACHED_PROXIES = 8000;
/** Lower for templates, because a line made from a template may take a few kilobytes. */
const MAX_CACHED_BY_TEMPLATE = 1000;

/** Smaller batches need more statements; larger ones delay the first byte. */
const MAX_BATCH = 1000;
const MIN_BATCH = 100;
/** Number of proxies to write before other requests may run. Writing them takes a few milliseconds. */
const WRITTEN_AT_ONCE = 250;
const READS_AT_ONCE = 8;
const READS_OF_A_USER = 2;
/**
 * Maximum number of proxies in all clients' batches combined. Limited because stalled clients hold memory.
 */
const PROXIES_TOGETHER = 5000;

/** Formats a time like `toProxyOut`: UTC with a precision of seconds. */
const isoSeconds = (column: string): string =>
  `replace(left(${column}::text, 19), ' ', 'T') || 'Z' AS ${column}`;

/** The fields of `ProxyOut`, in order. `$1` is the current time. */
export const EXPORTED_COLUMNS = `
  SELECT id::text, host, port, login, password, proxy_type, country, version,
         ${isoSeconds('date_start')}, ${isoSeconds('date_end')},
         (date_end > $1) IS TRUE AND withdrawn_at IS NULL AS active, label AS descr`;

const readJson = (selected: string): string => `
  SELECT string_agg(part, ',') AS text, max(id) AS last, count(*) AS count
    FROM (SELECT id, (SELECT row_to_json(proxy)::text FROM (${EXPORTED_COLUMNS}) AS proxy) AS part
          ${selected}) AS parts`;

const readLines = (selected: string): string => `
  SELECT string_agg(part, '') AS text, max(id) AS last, count(*) AS count
    FROM (SELECT id, format(E'%s:%s:%s:%s\\n', host, port, login, password) AS part ${selected}) AS parts`;

interface Batch {
  /** Null if there are no more proxies. */
  readonly text: string | null;
  readonly last: number;
  readonly hasMore: boolean;
}

interface Piece extends Pick<Batch, 'last' | 'hasMore'> {
  readonly bytes: Buffer | null;
}

/** Serializes a user's proxies, ordered by id, for lists and exports. */
@Injectable()
export class ProxyExportService {
  /** Concurrent requests share an export that is being written. */
  private readonly cache = new LRUCache<string, Buffer, Wanted>({
    maxSize: CACHE_BYTES,
    sizeCalculation: ({ length }, key) => ENTRY_BYTES + key.length + length,
    fetchMethod: (_key, _old, { context }) => this.writeForAll(context),
    ignoreFetchAbort: true,
  });
  /** Number of exports being sent in pieces. */
  private open = 0;
  private readonly turns = new ConcurrencyLimit<number>(READS_AT_ONCE, READS_OF_A_USER);

  constructor(
    private readonly dataSource: DataSource,
    private readonly underWay: RequestsUnderWay,
  ) {}

  /**
   * Returns an export in UTF-8. A long export is produced in pieces, so that a client that stops reading ties
   * up little memory.
   * @param closed aborts when the text has been sent or the client has disconnected
   * @throws TooManyUnderWay; for a long export, only when its first piece is read
   * @throws the abort reason of `closed`, once it aborts
   */
  async get(
    revision: ListRevision,
    options: ExportOptions,
    closed: AbortSignal,
  ): Promise<Buffer | AsyncGenerator<Buffer>> {
    const wanted = { revision, options, format: formatOf(options) };
    const maxCached = options.template === null ? MAX_CACHED_PROXIES : MAX_CACHED_BY_TEMPLATE;
    if (revision.proxyCount > maxCached) return this.writePieces(wanted, closed);
    if (!isUsual(options.filter)) return this.writeForOne(wanted, closed);
    const { userId, revision: number, untilMs } = revision;
    const key = `${userId} ${number} ${untilMs} ${variantOf(options)}`;
    return this.cache.forceFetch(key, { context: wanted });
  }

  /** Writes a whole export even if a client disconnects, because other requests may wait for it. */
  private async writeForAll(wanted: Wanted): Promise<Buffer> {
    const leave = this.enter(wanted);
    return this.writeWhole(wanted).finally(leave);
  }

  private async writeForOne(wanted: Wanted, closed: AbortSignal): Promise<Buffer> {
    const leave = this.enter(wanted);
    return this.writeWhole(wanted, closed).finally(() => {
      if (closed.aborted) leave();
      else closed.addEventListener('abort', leave);
    });
  }

  /** Occupies no database connection between pieces, so that slow clients cannot exhaust the pool. */
  private async *writePieces(wanted: Wanted, closed: AbortSignal): AsyncGenerator<Buffer> {
    const leave = this.enter(wanted);
    this.open += 1;
    try {
      const share = () => Math.floor(PROXIES_TOGETHER / this.open);
      const size = () => Math.min(MAX_BATCH, Math.max(MIN_BATCH, share()));
      yield* this.writeBytes(wanted, size, closed);
    } finally {
      this.open -= 1;
      leave();
    }
  }

  private enter(wanted: Wanted): () => void {
    return isSpecified(wanted) ? () => undefined : this.underWay.enter('export', wanted.revision.userId);
  }

  private async writeWhole(wanted: Wanted, closed?: AbortSignal): Promise<Buffer> {
    const pieces: Buffer[] = [];
    for await (const bytes of this.writeBytes(wanted, () => Infinity, closed)) pieces.push(bytes);
    // A small pooled buffer, as from `Buffer.concat`, would keep its whole pool in memory.
    const whole = Buffer.alloc(pieces.reduce((sum, { length }) => sum + length, 0));
    pieces.reduce((at, piece) => at + piece.copy(whole, at), 0);
    return whole;
  }

  /** Reads one batch ahead of the client. @param size returns the maximum number of proxies in a batch */
  private async *writeBytes(
    wanted: Wanted,
    size: () => number,
    closed?: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const { start, separator, empty } = wanted.format;
    const readAfter = (last: number): Promise<Piece> => {
      const limit = isByDatabase(wanted.format) ? size() : Math.min(size(), MAX_BATCH);
      const before = last === 0 ? start : separator;
      // Keep a slow client's text in a buffer outside the heap, because the heap is slow to shrink.
      const batch = this.turns
        .run(wanted.revision.userId, () => this.read(wanted, last, limit), closed)
        .then(({ text, ...rest }): Piece => ({
          ...rest,
          bytes: text === null ? null : Buffer.from(before + text),
        }));
      // The batch may fail after its client has disconnected, when nothing awaits it.
      batch.catch(() => undefined);
      return batch;
    };
    let isEmpty = true;
    let next: Promise<Piece> | undefined = readAfter(0);
    while (next) {
      const { bytes, last, hasMore }: Piece = await next;
      next = hasMore ? readAfter(last) : undefined;
      if (bytes === null) break;
      yield bytes;
      isEmpty = false;
    }
    const { end } = wanted.format;
    const rest = isEmpty ? (empty ?? start + end) : end;
    if (rest !== '') yield Buffer.from(rest);
  }

  private async read({ revision, options, format }: Wanted, after: number, limit: number): Promise<Batch> {
    const { filter } = options;
    const most = limit === Infinity ? null : limit;
    const values: unknown[] = [new Date(revision.fromMs), revision.userId, after, most];
    const condition = proxyFilterSql(filter, (value) => `$${values.push(value)}`, '$1');
    // Always refer to `$1`, because PostgreSQL cannot infer the type of an unused parameter.
    const selected = `
      FROM proxies
     WHERE user_id = $2 AND id > $3 AND $1::timestamptz IS NOT NULL AND ${condition}
     ORDER BY proxies.id LIMIT $4`;
    const read = isUsual(filter) ? preparedRows : queryRows;
    const { write, separator } = format;
    if (typeof write === 'string') {
      const statement = write === 'json' ? readJson(selected) : readLines(selected);
      const [batch] = await read<Omit<Batch, 'hasMore'> & { count: number }>(
        this.dataSource,
        statement,
        values,
      );
      if (!batch) throw new Error('the database did not aggregate');
      return { ...batch, hasMore: batch.count === limit };
    }
    const proxies = await read<ProxyOut>(this.dataSource, `${EXPORTED_COLUMNS} ${selected}`, values);
    const last = proxies.at(-1);
    if (!last) return { text: null, last: after, hasMore: false };
    const texts: string[] = [];
    for await (const some of inSlices(proxies, WRITTEN_AT_ONCE)) texts.push(...some.map(write));
    return { text: texts.join(separator), last: Number(last.id), hasMore: proxies.length === limit };
  }
}
