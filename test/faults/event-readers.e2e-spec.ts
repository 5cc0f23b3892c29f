import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { fetchAs } from '../support/api-client';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { type EventStream, openEventStream } from '../support/event-stream';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { insertProxies } from '../support/proxy-rows';
import { type Customer, Replicas } from '../support/replicas';
import { metricsUrlOf, readMetrics } from '../support/scrape';
import { SeededRandom } from '../support/seeded-random';
import { untilPublished } from '../support/soak-events';

const REPLICAS = inLongForm(3, 2);
const CUSTOMERS = 5;
const WRITERS_PER_CUSTOMER = 4;
const EVENTS_PER_WRITER = inLongForm(1000, 40);
const WAITING_PER_CUSTOMER = inLongForm(100, 20);
const WAITING_CUSTOMERS = 10;
const RESPONSES = inLongForm(1000, 8);
const ENDS = inLongForm(100_000, 3000);
const KILLED = inLongForm(3, 1);
const IDLE_MS = inLongForm(5000, 2000);
/** Per second, for all who wait. */
const MOST_STATEMENTS = 50;
/** Together shorter than a wait. */
const MOST_ROUNDS = 5;

jest.setTimeout(inLongForm(700_000, 120_000));

interface ReadEvent {
  readonly id: string;
  readonly data: { readonly writer?: number; readonly n?: number };
}

interface Page {
  readonly items: readonly ReadEvent[];
  readonly next_cursor: string;
}

describe(`Events, read over ${REPLICAS} replicas`, () => {
  let services: BuiltService[];
  const clients: Client[] = [];
  const random = new SeededRandom(17);

  // All customers share one address, which may use half of the connections.
  const replicas = forAllTests(() =>
    Replicas.open({
      environment: { AUDIT_TIME: 'off', MAX_CONNECTIONS: '4000', METRICS_PORT: '0', LOG_LEVEL: 'info' },
    }),
  );
  beforeAll(async () => {
    services = await Promise.all(Array.from({ length: REPLICAS }, () => replicas.start()));
  }, BUILD_TIMEOUT_MS);
  beforeClosing(() => Promise.all(clients.map((client) => client.end())));

  const anyReplica = (): string => services[Math.floor(random.next() * services.length)]?.baseUrl ?? '';

  async function connect(): Promise<Client> {
    const client = new Client({ connectionString: replicas.environmentOf()['DATABASE_URL'] });
    clients.push(client);
    await client.connect();
    return client;
  }

  async function read(baseUrl: string, customer: Customer, query: string): Promise<Page> {
    const get = () => fetchAs(customer, 'GET', `${baseUrl}/events?${query}`);
    const response = await get().catch(get);
    if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
    return (await response.json()) as Page;
  }

  const WRITE = 'INSERT INTO events (user_id, type, data) VALUES ($1, $2, $3)';

  async function writeSlowly({ id }: Customer, writer: number): Promise<void> {
    const client = await connect();
    for (let n = 0; n < EVENTS_PER_WRITER; n += 1) {
      await client.query('BEGIN');
      await client.query(WRITE, [id, 'proxy.moved', { writer, n }]);
      await pause(random.next() * 20);
      if (random.next() < 0.1) {
        await client.query('ROLLBACK');
        n -= 1;
      } else {
        await client.query('COMMIT');
      }
    }
  }

  async function poll(customer: Customer, seen: ReadEvent[], isOver: () => boolean): Promise<void> {
    let cursor = '';
    while (!isOver()) {
      const query = `wait=2&limit=${1 + Math.floor(random.next() * 20)}${cursor && `&after=${cursor}`}`;
      const page = await read(anyReplica(), customer, query).catch(() => null);
      if (page) seen.push(...page.items);
      else await pause(20);
      cursor = page?.next_cursor ?? cursor;
    }
  }

  async function follow(customer: Customer, seen: ReadEvent[], isOver: () => boolean): Promise<void> {
    let lastId: string | undefined;
    while (!isOver()) {
      const stream: EventStream | null = await openEventStream(anyReplica(), '/events', {
        token: customer.token,
        ...(lastId !== undefined && { lastEventId: lastId }),
      }).catch(() => null);
      const untilMs = performance.now() + 200 + random.next() * 1500;
      const isLeft = () => stream?.hasEnded() !== false || performance.now() >= untilMs || isOver();
      while (!isLeft()) await pause(10);
      stream?.close();
      if (stream?.status !== 200) {
        await pause(20);
        continue;
      }
      const messages = stream.messages();
      seen.push(...messages.map(({ data }) => JSON.parse(data) as ReadEvent));
      lastId = messages.at(-1)?.id ?? lastId;
    }
  }

  it('skip none and come in order, also after late commits and kills', async () => {
    const customers = await Promise.all(Array.from({ length: CUSTOMERS }, () => replicas.createCustomer()));
    let isOver = false;
    const readers = customers.map((customer) => ({
      customer,
      polled: [] as ReadEvent[],
      followed: [] as ReadEvent[],
      written: [] as ReadEvent[],
    }));
    const reading = readers.flatMap(({ customer, polled, followed }) => [
      poll(customer, polled, () => isOver),
      follow(customer, followed, () => isOver),
    ]);
    const writing = customers.flatMap((customer) =>
      Array.from({ length: WRITERS_PER_CUSTOMER }, (_, writer) => writeSlowly(customer, writer)),
    );
    for (let at = 0; at < KILLED; at += 1) {
      await pause(500);
      services.shift()?.kill('SIGKILL');
      if (at + 1 < KILLED) services.push(await replicas.start());
    }
    await Promise.all(writing);
    await untilPublished(replicas);
    for (const { customer, written } of readers) {
      const logged = await replicas.query<ReadEvent>(
        `SELECT 'evt_' || position AS id, data FROM events WHERE user_id = $1 ORDER BY position`,
        [customer.id],
      );
      written.push(...logged);
    }
    // A reader that has skipped some comes to the last as well.
    await eventually(() =>
      readers.every(({ polled, followed, written }) =>
        [polled, followed].every((seen) => seen.at(-1)?.id === written.at(-1)?.id),
      ),
    ).catch(() => undefined);
    isOver = true;
    await Promise.all(reading);
    for (const { polled, followed, written } of readers) {
      expect(written.length).toBeGreaterThanOrEqual(WRITERS_PER_CUSTOMER * EVENTS_PER_WRITER);
      expect(polled.map(({ id }) => id)).toEqual(written.map(({ id }) => id));
      expect(followed.map(({ id }) => id)).toEqual(written.map(({ id }) => id));
      // The transactions of one writer commit in their order.
      for (let writer = 0; writer < WRITERS_PER_CUSTOMER; writer += 1) {
        const own = polled.flatMap(({ data }) => (data.writer === writer ? (data.n ?? []) : []));
        expect(own).toEqual(Array.from({ length: EVENTS_PER_WRITER }, (_, n) => n));
      }
    }
  });

  it('cost the database a statement a second, however many wait', async () => {
    const customers = await Promise.all(
      Array.from({ length: WAITING_CUSTOMERS }, () => replicas.createCustomer()),
    );
    await pause(1000);
    const [one] = services as [BuiltService, ...BuiltService[]];
    const commits = async (): Promise<number> => {
      const [row] = await replicas.query<{ count: string }>(
        'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
      );
      return Number(row?.count);
    };
    const whileIdle = async (): Promise<number> => {
      const before = await commits();
      await pause(IDLE_MS);
      return (await commits()) - before;
    };
    const idle = await whileIdle();
    const waiting: Promise<Page>[] = [];
    for (const customer of customers) {
      const { next_cursor: now } = await read(one.baseUrl, customer, 'after=now');
      const query = `after=${now}&wait=30&type=proxy.expired`;
      for (let n = 0; n < WAITING_PER_CUSTOMER; n += 1) waiting.push(read(one.baseUrl, customer, query));
    }
    const metricsUrl = await metricsUrlOf(one);
    await eventually(async () => {
      const { value } = await readMetrics(metricsUrl);
      return value('event_readers{kind="poll"}') === waiting.length;
    });
    // The database counts the statements of arrivals late, so the first measurement may be too high.
    let more = Infinity;
    for (let round = 0; round < MOST_ROUNDS && more >= MOST_STATEMENTS; round += 1) {
      more = (((await whileIdle()) - idle) * 1000) / IDLE_MS;
    }
    process.stderr.write(
      `${waiting.length} wait: ${more.toFixed(1)} statements a second more than ${idle} in ${IDLE_MS} ms\n`,
    );
    expect(more).toBeLessThan(MOST_STATEMENTS);
    const writer = await connect();
    const begunMs = performance.now();
    for (const { id } of customers) await writer.query(WRITE, [id, 'proxy.expired', {}]);
    const pages = await Promise.all(waiting);
    process.stderr.write(`all of them responded after ${Math.round(performance.now() - begunMs)} ms\n`);
    expect(pages.map(({ items }) => items.length)).toEqual(waiting.map(() => 1));
  });

  it('are returned once each to those who wait, soon after the commit', async () => {
    const customer = await replicas.createCustomer();
    const writer = await connect();
    const elapsedMs: number[] = [];
    let cursor = (await read(anyReplica(), customer, 'after=now')).next_cursor;
    for (let n = 0; n < RESPONSES; n += 1) {
      const query = `after=${cursor}&wait=30&type=proxy.expired`;
      const waiting = read(anyReplica(), customer, query).then((page) => ({ page, atMs: performance.now() }));
      await pause(20 + random.next() * 200);
      await writer.query(WRITE, [customer.id, 'proxy.expired', { n }]);
      const committedMs = performance.now();
      const { page, atMs } = await waiting;
      expect(page.items.map(({ data }) => data.n)).toEqual([n]);
      cursor = page.next_cursor;
      elapsedMs.push(atMs - committedMs);
    }
    elapsedMs.sort((a, b) => a - b);
    const at = (part: number) => Math.round(elapsedMs[Math.floor(part * (elapsedMs.length - 1))] ?? 0);
    process.stderr.write(
      `from commit to response: median ${at(0.5)} ms, p99 ${at(0.99)} ms of ${RESPONSES}\n`,
    );
    // Half of it is the pause between two runs of publishing. A lost notification would cost a second.
    expect(at(0.5)).toBeLessThan(inLongForm(1000, Infinity));
  });

  it('send a reminder of each of very many ends that come together, while replicas are killed', async () => {
    const customer = await replicas.createCustomer();
    await insertProxies(replicas, customer.id, ENDS, { endsInSeconds: 20 * 3600 });
    await replicas.query(`UPDATE proxies SET reminded_hours = 32767 WHERE user_id = $1`, [customer.id]);
    const begunMs = performance.now();
    const print = async (): Promise<{ all: number; different: number }> => {
      const [row] = await replicas.query<{ all: number; different: number }>(
        `SELECT count(*)::int AS all, count(DISTINCT data ->> 'proxy_id')::int AS different FROM events
          WHERE user_id = $1 AND type = 'proxy.expiring' AND (data -> 'hours_left')::int = 24`,
        [customer.id],
      );
      return row ?? { all: 0, different: 0 };
    };
    // The next run would be due within a minute.
    await replicas.query(
      `UPDATE job_runs SET started_at = started_at - interval '1 hour' WHERE name = 'expiring'`,
    );
    let killed = 0;
    while ((await print()).all < ENDS) {
      const holder = await replicas.query(
        `SELECT FROM job_runs WHERE name = 'expiring' AND finished_at IS NULL`,
      );
      if (holder.length > 0 && killed < 1) {
        killed += 1;
        for (const service of services.slice(0, KILLED)) service.kill('SIGKILL');
        const started = await Promise.all(services.slice(0, KILLED).map(() => replicas.start()));
        services.splice(0, KILLED, ...started);
        await replicas.query(`UPDATE job_runs SET leased_until = now() WHERE name = 'expiring'`);
      }
      await pause(500);
    }
    process.stderr.write(`${ENDS} reminders sent after ${Math.round(performance.now() - begunMs)} ms\n`);
    expect(await print()).toEqual({ all: ENDS, different: ENDS });
  });
});
