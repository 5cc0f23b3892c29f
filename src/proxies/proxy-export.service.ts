import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { DataSource } from 'typeorm';
import type { ProxyType } from '../common';
import { preparedRows } from '../database';
import { PROXY_COLUMNS, type ProxyFields, toProxyOut } from './dto/proxy-out.dto';
import type { ListRevision } from './list-revision.service';
import { ROW_SEPARATOR, ROW_TEXT, rowsToJson } from './rows-to-json';

export interface ExportOptions {
  readonly format: 'json' | 'txt';
  /** Undefined: both. */
  readonly proxyType: ProxyType | undefined;
  readonly activeOnly: boolean;
}

/** Proxies of a user with ids above `after`, up to and including `upTo`. */
interface IdRange {
  readonly after: number;
  readonly upTo: number;
}

/** Enough for lists of about 60,000 proxies. */
const CACHE_BYTES = 16 * 1024 * 1024;
/** A longer list would drive out all others. */
const MAX_CACHED_BYTES = CACHE_BYTES / 8;

/** How an export is read: proxies in a statement, and statements that run while an earlier batch is sent. */
interface Pace {
  readonly batchSize: number;
  readonly batchesAhead: number;
}

/** Fast: the database works on other processors than this process. */
const FEW_EXPORTS: Pace = { batchSize: 2000, batchesAhead: 2 };
/** Little memory: whoever stops reading keeps about 100 kB of the service's, instead of 2 MB. */
const MANY_EXPORTS: Pace = { batchSize: 100, batchesAhead: 0 };
/** More exports than this at the same time are many. */
const FEW = 4;

/** Kept in the place of a list that is not. */
const TOO_LONG = 'too long';

const LIST: ExportOptions = { format: 'json', proxyType: undefined, activeOnly: false };

const SELECTED = `
    FROM proxies
   WHERE user_id = $2 AND id > $3 AND id <= $4 AND proxy_type = coalesce($5, proxy_type)
     AND (NOT $6 OR (date_end > $1 AND withdrawn_at IS NULL))
   ORDER BY id`;

const READ_ROWS = `
  SELECT string_agg(line, '${ROW_SEPARATOR}') AS text
    FROM (SELECT ${ROW_TEXT} AS line ${SELECTED}) AS rows`;

const READ_LINES = `
  SELECT string_agg(line, '') AS text
    FROM (SELECT format(E'%s:%s:%s:%s\\n', host, port, login, password) AS line ${SELECTED}) AS lines`;

/** Writes a user's proxies, ordered by id, as the text that lists and exports send. */
@Injectable()
export class ProxyExportService {
  /** Concurrent requests for a list that is being written share it. */
  private readonly lists = new LRUCache<ListRevision, Buffer | typeof TOO_LONG>({
    maxSize: CACHE_BYTES,
    maxEntrySize: MAX_CACHED_BYTES,
    sizeCalculation: ({ length }) => Math.max(length, 1),
    fetchMethod: (revision) => collect(this.write(revision, LIST)),
    ignoreFetchAbort: true,
  });
  /** How many exports are being written. */
  private open = 0;

  constructor(private readonly dataSource: DataSource) {}

  /**
   * The JSON of all proxies, in UTF-8. A list is written once for a revision and kept while it is asked for,
   * unless it is so long that every reader who stops would keep too much memory: that one is in pieces.
   */
  async getList(revision: ListRevision): Promise<Buffer | AsyncGenerator<Buffer>> {
    const list = await this.lists.forceFetch(revision);
    return list === TOO_LONG ? this.write(revision, LIST) : list;
  }

  /**
   * Writes an export piece by piece, in UTF-8. No connection is held between the pieces, so that a slow
   * reader does not occupy one.
   */
  async *write({ userId, fromMs }: ListRevision, options: ExportOptions): AsyncGenerator<Buffer> {
    const isJson = options.format === 'json';
    let isFirst = true;
    this.open += 1;
    try {
      for await (const text of this.readBatches(userId, new Date(fromMs), options)) {
        if (text === '') continue;
        yield Buffer.from(isJson && isFirst ? `[${text.slice(1)}` : text);
        isFirst = false;
      }
      if (isJson) yield Buffer.from(isFirst ? '[]' : ']');
    } finally {
      this.open -= 1;
    }
  }

  private get pace(): Pace {
    return this.open > FEW ? MANY_EXPORTS : FEW_EXPORTS;
  }

  private async *readBatches(userId: number, now: Date, options: ExportOptions): AsyncGenerator<string> {
    const ahead: Promise<string>[] = [];
    const ranges = this.findRanges(userId);
    let next = ranges.next();
    for (let range = await next; !range.done; range = await next) {
      next = ranges.next();
      const batch = this.readBatch(userId, range.value, now, options);
      // The reader may leave before these are awaited: a failure is then nobody's.
      for (const promise of [batch, next]) promise.catch(() => undefined);
      ahead.push(batch);
      while (ahead.length > this.pace.batchesAhead) yield (await ahead.shift()) ?? '';
    }
    for (const batch of ahead) yield await batch;
  }

  private async *findRanges(userId: number): AsyncGenerator<IdRange> {
    for (let after = 0; ;) {
      const [last] = await preparedRows<{ id: number }>(
        this.dataSource,
        `SELECT id FROM proxies WHERE user_id = $1 AND id > $2
          ORDER BY id OFFSET ${this.pace.batchSize - 1} LIMIT 1`,
        [userId, after],
      );
      yield { after, upTo: last?.id ?? Number.MAX_SAFE_INTEGER };
      if (!last) return;
      after = last.id;
    }
  }

  private async readBatch(
    userId: number,
    { after, upTo }: IdRange,
    now: Date,
    { format, proxyType, activeOnly }: ExportOptions,
  ): Promise<string> {
    const parameters = [now, userId, after, upTo, proxyType ?? null, activeOnly];
    const read = <Row>(statement: string) => preparedRows<Row>(this.dataSource, statement, parameters);
    if (format === 'txt') {
      const [lines] = await read<{ text: string | null }>(READ_LINES);
      return lines?.text ?? '';
    }
    const [batch] = await read<{ text: string | null }>(READ_ROWS);
    if (!batch?.text) return '';
    const json = rowsToJson(batch.text);
    if (json !== undefined) return json;
    const proxies = await read<ProxyFields>(`SELECT ${PROXY_COLUMNS} ${SELECTED}`);
    return proxies.map((proxy) => `,${JSON.stringify(toProxyOut(proxy, now))}`).join('');
  }
}

/** Puts the pieces together, unless they are more than is kept. */
async function collect(pieces: AsyncIterable<Buffer>): Promise<Buffer | typeof TOO_LONG> {
  const collected: Buffer[] = [];
  let byteCount = 0;
  for await (const piece of pieces) {
    byteCount += piece.length;
    if (byteCount > MAX_CACHED_BYTES) return TOO_LONG;
    collected.push(piece);
  }
  return Buffer.concat(collected);
}
