import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { PROXYCHAINS_START } from '../../src/proxies/export/proxychains';
import { eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { captureLog } from '../support/log-capture';
import { MAX_GROWTH_BYTES, openConnections, startDownload, usedBytes } from '../support/long-responses';
import { insertProxies } from '../support/proxy-rows';
import { startTestService } from '../support/test-service';

const PROXY_COUNT = 14_000;
/** Makes each file larger than the memory may grow. */
const PADDING = 'x'.repeat(240);
/** About 6 MB of text: more than the buffers of the sockets take. */
const ENTRY_COUNT = 60_000;
const CSV_HEAD = 'id,host,port,login,password,proxy_type,country,version,date_start,date_end,active,descr';
const CURL_HEAD =
  '# curl --config curl.conf https://example.com/\n' +
  '# The first active proxy is used; the others are comments.\nnoproxy = ""\n';
const SING_BOX_HEAD =
  '{"inbounds":[{"type":"mixed","listen":"127.0.0.1","listen_port":2080}],\n' +
  '"route":{"final":"rented"},\n"outbounds":[\n';
const loginOf = (n: number): string => `${n + 1}${PADDING}`;
const urlOf = (n: number): string => `http://${loginOf(n)}:${n + 1}${PADDING}@127.0.0.1:8080`;

interface Format {
  readonly path: string;
  readonly start?: string;
  readonly item: RegExp;
  readonly isItem: (text: string, n: number) => boolean;
  readonly end: string | RegExp;
}

jest.setTimeout(120_000);

const log = forAllTests(captureLog, (opened) => opened.stop());
const service = forAllTests(() =>
  startTestService({
    environment: { DB_POOL_SIZE: '2', LOG_LEVEL: 'info', LOG_FORMAT: 'json' },
    // On a busy machine, the reader's pauses are long.
    tuning: { readerIdleMs: 120_000 },
  }),
);
const user = forAllTests(() => service.createUser());

const poolIsIdle = (): boolean => {
  const { master } = service.dataSource.driver as unknown as { readonly master: Pool };
  return master.idleCount === master.totalCount && master.waitingCount === 0;
};
const errors = () => log.lines.filter((line) => line.includes('"level":"error"'));

describe('An export of many megabytes', () => {
  let ids: number[];
  const responses: IncomingMessage[] = [];

  beforeAll(async () => {
    ids = await insertProxies(service.dataSource, user.id, PROXY_COUNT, {
      login: `#${PADDING}`,
      password: `#${PADDING}`,
    });
    // Autovacuum does this in time; without it the planner sorts all rows of a user for every batch.
    await service.owner.query('ANALYZE proxies');
  });
  afterEach(() => {
    for (const incoming of responses.splice(0)) incoming.destroy();
    expect(errors()).toEqual([]);
  });

  async function download(path: string): Promise<IncomingMessage> {
    const response = await startDownload(service, user, `proxies/${path}`);
    responses.push(response);
    return response;
  }

  /** Waits until the service has read as far ahead as it may. */
  async function untilServiceIsIdle(): Promise<void> {
    for (let idleChecks = 0; idleChecks < 20; idleChecks = poolIsIdle() ? idleChecks + 1 : 0) await sleep(5);
  }

  const inLines = (path: string, start: string, write: (n: number) => string, end = ''): Format => ({
    path,
    start,
    item: /[^\n]+\n/g,
    end,
    // The last one may lack a separator.
    isItem: (text, n) =>
      text === write(n) || (n === PROXY_COUNT - 1 && text === write(n).replace(/,\n$/, '\n')),
  });
  const FORMATS: readonly Format[] = [
    {
      path: 'export?format=json',
      item: /[[,]\{[^}]*\}/g,
      end: ']',
      isItem: (text, n) => {
        const { id, login } = JSON.parse(text.slice(1)) as { id: string; login: string };
        return text.startsWith(n === 0 ? '[' : ',') && id === String(ids[n]) && login === loginOf(n);
      },
    },
    inLines('export?format=txt', '', (n) => `127.0.0.1:8080:${loginOf(n)}:${n + 1}${PADDING}\n`),
    inLines('lists/url', '', (n) => `${urlOf(n)}\n`),
    {
      ...inLines('lists/csv', `${CSV_HEAD}\r\n`, () => ''),
      isItem: (text, n) =>
        text.startsWith(`${ids[n]},127.0.0.1,8080,${loginOf(n)},${n + 1}${PADDING},http,ru,6,`),
    },
    inLines('lists/curl', CURL_HEAD, (n) => `${n === 0 ? '' : '# '}proxy = "${urlOf(n)}"\n`),
    inLines(
      'lists/proxychains',
      PROXYCHAINS_START,
      (n) => `http 127.0.0.1 8080 ${loginOf(n)} ${n + 1}${PADDING}\n`,
    ),
    {
      ...inLines('lists/playwright', '[\n', () => ''),
      item: /\{[^\n]+\n/g,
      isItem: (text, n) =>
        text.startsWith(
          `{"server":"http://127.0.0.1:8080","username":"${loginOf(n)}","password":"${n + 1}${PADDING}"}`,
        ),
      end: ']\n',
    },
    {
      ...inLines(
        'lists/clash',
        'mixed-port: 7890\nmode: rule\nproxies:\n',
        (n) =>
          `  - {"name":"ru-${ids[n]}","type":"http","server":"127.0.0.1","port":8080,` +
          `"username":"${loginOf(n)}","password":"${n + 1}${PADDING}"}\n`,
      ),
      item: / {2}- \{"name":"ru[^\n]+\n/g,
      end: /^proxy-groups:\n {2}- .*"rented".*\["ru-\d+"(?:,"ru-\d+"){999}\]\}\nrules:\n.*\n.*\n$/,
    },
    {
      ...inLines('lists/sing-box', SING_BOX_HEAD, () => ''),
      item: /\{"type":"http"[^\n]+\n/g,
      isItem: (text, n) => text.startsWith(`{"type":"http","tag":"ru-${ids[n]}","server":"127.0.0.1",`),
      end: /^\{"type":"selector","tag":"rented","outbounds":\["ru-\d+"(?:,"ru-\d+"){999}\]\}\n\]\}\n$/,
    },
    inLines(
      `lists/template?template=${encodeURIComponent('{id};{login};{password};{url}')}`,
      '',
      (n) => `${ids[n]};${loginOf(n)};${n + 1}${PADDING};${urlOf(n)}\n`,
    ),
  ];

  it.each(FORMATS)(
    'is complete and uses no more than 6 MiB of memory for a slow reader: $path',
    async ({ path, start = '', item, end, isItem }) => {
      const before = usedBytes();
      let maxGrowth = 0;
      let nextCheckAt = 0;
      let rest = '';
      let count = 0;
      let length = 0;
      for await (const piece of (await download(path)).setEncoding('utf8') as AsyncIterable<string>) {
        let text = rest + piece;
        length += piece.length;
        if (count === 0) {
          expect(text.slice(0, start.length)).toBe(start);
          text = text.slice(start.length);
        }
        let inspected = 0;
        for (const [found] of text.matchAll(item)) {
          if (!text.startsWith(found, inspected) || !isItem(found, count)) {
            throw new Error(`unexpected: ${found}`);
          }
          inspected += found.length;
          count += 1;
        }
        rest = text.slice(inspected);
        if (count < nextCheckAt) continue;
        nextCheckAt = count + PROXY_COUNT / 2;
        await untilServiceIsIdle();
        maxGrowth = Math.max(maxGrowth, usedBytes() - before);
      }
      expect(count).toBe(PROXY_COUNT);
      expect(rest).toEqual(typeof end === 'string' ? end : expect.stringMatching(end));
      expect(length).toBeGreaterThan(MAX_GROWTH_BYTES);
      expect(maxGrowth).toBeLessThan(MAX_GROWTH_BYTES);
    },
  );

  it('holds no connection to the database for readers that have stopped', async () => {
    const stalled = await Promise.all(Array.from({ length: 4 }, () => download('export?format=json')));
    await untilServiceIsIdle();
    const { response } = await user.api.GET('/me');
    expect(response.status).toBe(200);
    for (const incoming of stalled) incoming.destroy();
    await eventually(async () => (await openConnections(service)) <= 1);
  });

  it.each(FORMATS.slice(0, 3))(
    'ends without an error when the reader disconnects in the middle: $path',
    async ({ path }) => {
      const before = log.lines.length;
      const incoming = await download(path);
      await once(incoming, 'data');
      incoming.destroy();
      await eventually(() => log.lines.slice(before).some((line) => line.includes('"status":"aborted"')));
      await eventually(poolIsIdle);
      expect((await user.api.GET('/me')).response.status).toBe(200);
    },
  );
});

describe(`A file of ${ENTRY_COUNT} ledger entries`, () => {
  const payer = forAllTests(() => service.createUser({ balance: '0.00' }));
  beforeAll(async () => {
    // On a busy machine, one statement for all may time out.
    for (let first = 1; first <= ENTRY_COUNT; first += ENTRY_COUNT / 10) {
      await service.dataSource.query(
        `INSERT INTO ledger_entries
           (user_id, seq, kind, available_delta, held_delta, available_after, held_after)
         SELECT $1, n, 'topup', 1, 0, n, 0
           FROM generate_series($2::integer, $2::integer + ${ENTRY_COUNT / 10} - 1) AS n`,
        [payer.id, first],
      );
    }
    await service.owner.query('ANALYZE ledger_entries');
  });

  const download = () => startDownload(service, payer, 'ledger', 'text/csv');

  it('is complete and uses no more than 3 MiB of memory', async () => {
    const before = usedBytes();
    let maxGrowth = 0;
    let nextCheckAt = 0;
    let rest = '';
    let count = 0;
    for await (const piece of (await download()).setEncoding('utf8') as AsyncIterable<string>) {
      const lines = (rest + piece).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        if (count > 0 && !line.startsWith(`${count},`)) throw new Error(`unexpected: ${line}`);
        count += 1;
      }
      if (count < nextCheckAt) continue;
      nextCheckAt = count + ENTRY_COUNT / 10;
      maxGrowth = Math.max(maxGrowth, usedBytes() - before);
    }
    expect([count, rest]).toEqual([1 + ENTRY_COUNT, '']);
    expect(maxGrowth).toBeLessThan(MAX_GROWTH_BYTES / 2);
  });

  it('holds no connection to the database for readers who have stopped, nor for those who left', async () => {
    const readers = await Promise.all(Array.from({ length: 6 }, download));
    await eventually(poolIsIdle);
    expect(readers.map(({ complete }) => complete)).toEqual(readers.map(() => false));
    expect((await payer.api.GET('/me')).response.status).toBe(200);
    for (const response of readers) response.destroy();
    await eventually(async () => (await openConnections(service)) <= 1);
    const queries = jest.spyOn(service.dataSource, 'query');
    for (let n = 0; n < 5; n += 1) expect((await payer.api.GET('/me')).response.status).toBe(200);
    expect(queries.mock.calls.filter(([text]) => text.includes('FROM ledger_entries'))).toEqual([]);
    queries.mockRestore();
  });
});

it('An export that fails in the middle is cut off, so as not to look complete, and logs why', async () => {
  const incoming = await startDownload(service, user, 'proxies/export');
  await service.owner.query('ALTER TABLE proxies RENAME TO proxies_gone');
  await expect(buffer(incoming)).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(errors()).toHaveLength(1);
  expect(errors()[0]).not.toMatch(new RegExp(`${PADDING}|SELECT`));
});
