import { Injectable } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import { DataSource } from 'typeorm';
import { preparedRows } from '../database';
import { PROXY_FACTS, type ProxyFacts, toProxyOut } from './dto/proxy-out.dto';
import { type FileFormat, rewriteRows, ROW_COLUMNS, ROW_SEPARATOR, writeProxies } from './proxy-rows';

export interface ProxyFilter {
  readonly proxyType: 'http' | 'socks' | undefined;
  readonly activeOnly: boolean;
}

/** What is in a file: a user's proxies as they are at a moment. */
export interface FileContents extends ProxyFilter {
  readonly userId: number;
  readonly format: FileFormat;
  readonly now: Date;
}

/** A part of a user's proxies: those after one, up to another and with it; null: to the last. */
interface Span {
  readonly after: number;
  readonly upTo: number | null;
}

const BATCH_SIZE = 1000;
/** Batches that the database is asked for beside the one that is sent: it has more processors than this process. */
const AHEAD = 2;

const CHOSEN = `
    FROM proxies
   WHERE user_id = $2 AND id > $3 AND id <= coalesce($4, id) AND proxy_type = coalesce($5, proxy_type)
     AND (NOT $6 OR (date_end > $1 AND withdrawn_at IS NULL))
   ORDER BY id`;

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
    for await (const span of this.spans(contents.userId)) {
      const batch = this.read(contents, span);
      // It may be that nobody waits for it any more.
      batch.catch(() => undefined);
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
      yield { after, upTo: last?.id ?? null };
      if (!last) return;
      after = last.id;
    }
  }

  private async read(contents: FileContents, { after, upTo }: Span): Promise<string> {
    const { now, userId, proxyType = null, activeOnly, format } = contents;
    const parameters = [now, userId, after, upTo, proxyType, activeOnly];
    const [batch] = await preparedRows<{ rows: string | null }>(
      this.dataSource,
      `SELECT string_agg(shown::text, '${ROW_SEPARATOR}') AS rows FROM (SELECT ${ROW_COLUMNS} ${CHOSEN}) AS shown`,
      parameters,
    );
    if (!batch?.rows) return '';
    return rewriteRows(batch.rows, format) ?? (await this.readOneByOne(parameters, contents));
  }

  private async readOneByOne(parameters: readonly unknown[], { now, format }: FileContents): Promise<string> {
    const proxies = await preparedRows<ProxyFacts>(
      this.dataSource,
      `SELECT ${PROXY_FACTS} ${CHOSEN}`,
      parameters,
    );
    return writeProxies(
      proxies.map((proxy) => toProxyOut(proxy, now)),
      format,
    );
  }
}
