import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import type { ProxyType } from '../common';
import { preparedRows } from '../database';
import { PROXY_FACTS, type ProxyFacts, toProxyOut } from './dto/proxy-out.dto';
import { idOf, rewriteRows, ROW_SEPARATOR, ROW_TEXT, writeJson } from './proxy-rows';

export interface ProxyFilter {
  readonly proxyType: ProxyType | undefined;
  readonly activeOnly: boolean;
}

/** What is in a file: a user's proxies as they are at a moment. */
export interface FileContents extends ProxyFilter {
  readonly userId: number;
  readonly format: 'json' | 'txt';
  readonly now: Date;
}

/** A part of a user's proxies: those after one, up to another and with it. */
interface Span {
  readonly after: number;
  readonly upTo: number;
}

const BATCH_SIZE = 2000;
/** Batches that the database is asked for beside the one that is sent: it has more processors than this process. */
const AHEAD = 2;

const CHOSEN = `
    FROM proxies
   WHERE user_id = $2 AND id > $3 AND id <= $4 AND proxy_type = coalesce($5, proxy_type)
     AND (NOT $6 OR (date_end > $1 AND withdrawn_at IS NULL))
   ORDER BY id`;

const READ_ROWS = `
  SELECT string_agg(shown, '${ROW_SEPARATOR}') AS text, count(*) AS count FROM (SELECT ${ROW_TEXT} AS shown ${CHOSEN}) AS rows`;

const READ_LINES = `
  SELECT string_agg(shown, '') AS text FROM (SELECT format(E'%s:%s:%s:%s\\n', host, port, login, password) AS shown ${CHOSEN}) AS rows`;

/** Lists and exports of a user's proxies, by id, as the text that is sent. */
@Injectable()
export class ProxyFilesService {
  constructor(@InjectDataSource() private readonly dataSource: DataSource) {}

  /** Piece by piece. No connection is held between the pieces, so that a slow reader costs nobody else. */
  async *pieces(contents: FileContents): AsyncGenerator<Buffer> {
    const isJson = contents.format === 'json';
    let isFirst = true;
    for await (const text of this.batches(contents)) {
      if (text === '') continue;
      yield Buffer.from(isJson && isFirst ? `[${text.slice(1)}` : text);
      isFirst = false;
    }
    if (isJson) yield Buffer.from(isFirst ? '[]' : ']');
  }

  private async *batches(contents: FileContents): AsyncGenerator<string> {
    const ahead: Promise<string>[] = [];
    const spans = this.spans(contents.userId);
    let next = spans.next();
    for (let span = await next; !span.done; span = await next) {
      next = spans.next();
      const batch = this.read(contents, span.value);
      // It may be that nobody waits for them any more.
      for (const promise of [batch, next]) promise.catch(() => undefined);
      ahead.push(batch);
      if (ahead.length > AHEAD) yield (await ahead.shift()) ?? '';
    }
    for (const batch of ahead) yield await batch;
  }

  private async *spans(userId: number): AsyncGenerator<Span> {
    for (let after = 0; ;) {
      const [last] = await preparedRows<{ id: number }>(
        this.dataSource,
        `SELECT id FROM proxies WHERE user_id = $1 AND id > $2 ORDER BY id OFFSET ${BATCH_SIZE - 1} LIMIT 1`,
        [userId, after],
      );
      yield { after, upTo: last?.id ?? Number.MAX_SAFE_INTEGER };
      if (!last) return;
      after = last.id;
    }
  }

  private async read(contents: FileContents, { after, upTo }: Span): Promise<string> {
    const { now, userId, proxyType = null, activeOnly, format } = contents;
    const parameters = [now, userId, after, upTo, proxyType, activeOnly];
    if (format === 'txt') {
      const [lines] = await preparedRows<{ text: string | null }>(this.dataSource, READ_LINES, parameters);
      return lines?.text ?? '';
    }
    const [batch] = await preparedRows<{ text: string | null; count: number }>(
      this.dataSource,
      READ_ROWS,
      parameters,
    );
    if (!batch?.text) return '';
    const written = rewriteRows(batch.text);
    if (written !== undefined) return written;
    const rows = batch.text.split(ROW_SEPARATOR);
    if (rows.length === batch.count) return this.writeRows(rows, contents);
    // One has the separator in it.
    const all = await preparedRows<ProxyFacts>(
      this.dataSource,
      `SELECT ${PROXY_FACTS} ${CHOSEN}`,
      parameters,
    );
    return all.map((proxy) => writeJson(toProxyOut(proxy, now))).join('');
  }

  /** Those that are not plain are read again, one by one. */
  private async writeRows(rows: readonly string[], { userId, now }: FileContents): Promise<string> {
    const written = rows.map(rewriteRows);
    const odd = await preparedRows<ProxyFacts>(
      this.dataSource,
      `SELECT ${PROXY_FACTS} FROM proxies WHERE user_id = $1 AND id = ANY ($2)`,
      [userId, rows.filter((_, at) => written[at] === undefined).map(idOf)],
    );
    const oddById = new Map(odd.map((proxy) => [proxy.id, writeJson(toProxyOut(proxy, now))]));
    return rows.map((row, at) => written[at] ?? oddById.get(idOf(row)) ?? '').join('');
  }
}
