import { setTimeout as pause } from 'node:timers/promises';
import { Client } from 'pg';
import { quantile } from 'simple-statistics';
import type { Tuning } from '../../src/config';
import { type BuiltService, eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { inLongForm } from '../support/long-form';
import { Replicas } from '../support/replicas';
import { createTestDatabase } from '../support/test-database';
import { type ReceivedWebhook, startWebhookReceiver, TEST_SECRET } from '../support/webhook-receiver';

const PENDING = inLongForm(100_000, 1000);
const OTHERS = inLongForm(99, 20);
const EVENTS_OF_EACH = inLongForm(20, 3);
const EVENTS_A_SECOND = 50;
const EVENTS = inLongForm(10_000, 200);
const KILLS = inLongForm(10, 1);
const PER_WEBHOOK = 8;
const IMPATIENT = { webhookTimeoutMs: 500 };

jest.setTimeout(inLongForm(900_000, 120_000));

describe('Webhooks of several replicas', () => {
  let running: BuiltService[];
  let paths = 0;
  const report: string[] = [];
  const database = forAllTests(createTestDatabase);
  const owner = forAllTests(() => new Client({ connectionString: database.ownerUrl }));
  const receiver = forAllTests(startWebhookReceiver);
  const replicas = forAllTests(() =>
    Replicas.open({
      database,
      environment: { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1', AUDIT_TIME: 'off' },
      // Attempts at an endpoint that hangs do not end by themselves, even on a slow machine.
      tuning: { webhookAttemptsPerWebhook: PER_WEBHOOK, webhookTimeoutMs: 60_000, webhookRetrySeconds: 100 },
    }),
  );
  beforeAll(async () => {
    await owner.connect();
    await owner.query('SET statement_timeout = 0');
    running = await Promise.all([start(), start()]);
  });
  beforeClosing(() => process.stdout.write(`${report.join('\n')}\n`));

  const start = (tuning?: Tuning) => replicas.start({ throughRelay: true, ...(tuning && { tuning }) });

  interface Hook {
    readonly id: number;
    readonly userId: number;
    readonly path: string;
  }

  async function createHook(): Promise<Hook> {
    const { id: userId } = await replicas.createCustomer();
    const path = `/${(paths += 1)}`;
    const { rows } = await owner.query<{ id: string }>(
      `INSERT INTO webhooks (user_id, url, secret, types)
       VALUES ($1, $2, $3, '{proxy.moved}') RETURNING id`,
      [userId, receiver.url + path, TEST_SECRET],
    );
    return { id: Number(rows[0]?.id), userId, path };
  }
  async function createHooks(count: number): Promise<Hook[]> {
    const made: Hook[] = [];
    while (made.length < count) made.push(await createHook());
    return made;
  }

  async function happen({ userId }: Hook, what: string): Promise<number> {
    await owner.query(`INSERT INTO events (user_id, type, data) VALUES ($1, 'proxy.moved', $2)`, [
      userId,
      { proxy_id: what },
    ]);
    return Date.now();
  }

  const whatOf = ({ body }: ReceivedWebhook): string =>
    (JSON.parse(body) as { data: { proxy_id: string } }).data.proxy_id;

  describe('next to an endpoint that hangs', () => {
    async function measure(hooks: readonly Hook[], round: string): Promise<number[]> {
      const committed = new Map<string, number>();
      const total = hooks.length * EVENTS_OF_EACH;
      const startedAtMs = performance.now();
      for (let at = 0; at < total; at += 1) {
        const what = `${round} ${at}`;
        committed.set(what, await happen(hooks[at % hooks.length] as Hook, what));
        const dueAtMs = startedAtMs + ((at + 1) * 1000) / EVENTS_A_SECOND;
        await pause(Math.max(0, dueAtMs - performance.now()));
      }
      const received = await eventually(() => {
        const found = new Map(receiver.received.map((webhook) => [whatOf(webhook), webhook.atMs]));
        return [...committed.keys()].every((what) => found.has(what)) && found;
      });
      return [...committed].map(([what, atMs]) => Math.max(0, (received.get(what) ?? Infinity) - atMs));
    }

    it(`${PENDING} events wait for it, and those of ${OTHERS} others are not delayed`, async () => {
      const [hanging, others] = [await createHook(), await createHooks(OTHERS)];
      receiver.responder = ({ path }) => (path === hanging.path ? 'hang' : 204);
      const alone = await measure(others, 'alone');
      await owner.query(
        `WITH made AS (
           INSERT INTO events (user_id, type, data, position)
           SELECT $1, 'proxy.moved', '{"proxy_id": "waiting"}', nextval('event_positions')
             FROM generate_series(1, ${PENDING})
           RETURNING id
         ) INSERT INTO webhook_deliveries (webhook_id, event_id) SELECT $2, id FROM made`,
        [hanging.userId, hanging.id],
      );
      await eventually(() => receiver.of(hanging.path).length >= PER_WEBHOOK);
      const beside = await measure(others, 'beside');
      const [p99Alone, p99] = [quantile(alone, 0.99), quantile(beside, 0.99)];
      const [p50Alone, p50] = [quantile(alone, 0.5), quantile(beside, 0.5)];
      const atOnce = receiver.mostAtOnce(hanging.path);
      report.push(
        `${PENDING} events pending at an endpoint that hangs, at most ${atOnce} attempts at once: ` +
          `${OTHERS} others p50 ${p50} ms, p99 ${p99} ms; without it p50 ${p50Alone} ms, p99 ${p99Alone} ms`,
      );
      // An attempt at the endpoint that hangs outlasts the wait for the events of the others.
      expect(p99).toBeLessThan(inLongForm(Math.max(5000, 3 * p99Alone), Infinity));
      // Replicas that claim at the same moment may each take the bound.
      expect(atOnce).toBeLessThanOrEqual(PER_WEBHOOK * running.length);
      const { rows } = await owner.query(
        `SELECT FROM webhook_deliveries WHERE webhook_id = $1 AND state <> 'pending'`,
        [hanging.id],
      );
      expect(rows).toEqual([]);
      await owner.query(
        `UPDATE webhooks SET disabled_at = now(), disabled_reason = 'operator' WHERE id = $1`,
        [hanging.id],
      );
    });
  });

  it('a lost response of the database sends nothing twice, and loses nothing', async () => {
    const hook = await createHook();
    receiver.responder = () => 204;

    // Other webhooks' attempts are recorded by the same statement.
    const settle = { statement: receiver.url + hook.path, moment: 'after', action: 'cut' } as const;
    const settled = replicas.relay.catchNext(settle);
    await happen(hook, 'settled');
    await settled.reached;

    const claim = { statement: 'WITH RECURSIVE waiting', moment: 'after', action: 'cut' } as const;
    await happen(hook, 'claimed');
    await replicas.relay.catchNext(claim).reached;
    // Whether that claim had it or a later one: what is leased and not sent comes when its lease ends.
    await eventually(async () => {
      await owner.query(
        `UPDATE webhook_deliveries SET lease_until = now(), next_attempt_at = now()
          WHERE webhook_id = $1 AND lease_until > now() + interval '1 s'
            AND event_id IN (SELECT id FROM events WHERE data ->> 'proxy_id' = 'claimed')`,
        [hook.id],
      );
      const { rows } = await owner.query<{ state: string; attempts: number }>(
        'SELECT state, attempts FROM webhook_deliveries WHERE webhook_id = $1 ORDER BY id',
        [hook.id],
      );
      return rows.length === 2 && rows.every(({ state }) => state === 'delivered') && rows;
    });
    const sent = receiver.of(hook.path).map(whatOf);
    expect(sent.filter((what) => what === 'settled')).toHaveLength(1);
    expect(sent).toContain('claimed');
    const { rows } = await owner.query(
      `SELECT count(*)::integer AS attempts FROM webhook_attempts WHERE webhook_id = $1`,
      [hook.id],
    );
    expect(rows).toEqual([{ attempts: 2 }]);
  });

  it('what a stopping replica cuts off is sent by another one at once', async () => {
    const hook = await createHook();
    receiver.responder = () => 'hang';
    await happen(hook, 'cut off');
    await eventually(() => receiver.of(hook.path).length === 1);
    receiver.responder = () => 204;
    const stopping = running;
    running = [await start()];
    const outcomes = await Promise.all(stopping.map((replica) => replica.stop()));
    expect(outcomes.map(({ code }) => code)).toEqual([0, 0]);
    await eventually(() => receiver.of(hook.path).length === 2);
    const attempts = await eventually(async () => {
      const { rows } = await owner.query<{ error: string | null }>(
        'SELECT error FROM webhook_attempts WHERE webhook_id = $1 ORDER BY id',
        [hook.id],
      );
      return rows.length === 2 && rows;
    });
    expect(attempts).toEqual([
      { error: 'the service stopped waiting, and will send the event again' },
      { error: null },
    ]);
  });

  it(`${EVENTS} events are received under kills, and each repetition has its id`, async () => {
    const hooks = await createHooks(20);
    const seen = new Set<string>();
    receiver.received.length = 0;
    // Each webhook fails in each way at the first attempts of some of its events.
    receiver.responder = (webhook, response) => {
      const isFirst = !seen.has(webhook.id);
      seen.add(webhook.id);
      const way = isFirst ? Math.floor(Number(webhook.id.replace('evt_', '')) / hooks.length) % 10 : 9;
      if (way === 0) return 500;
      if (way === 1) return void response.socket?.destroy();
      if (way === 2) return 'hang';
      if (way === 3) return void setTimeout(() => response.writeHead(200).end('late'), 100);
      return 204;
    };
    running.push(await start(IMPATIENT));
    const expected = new Map<string, Hook>();
    let kills = 0;
    for (let at = 0; at < EVENTS; at += 1) {
      const hook = hooks[at % hooks.length] as Hook;
      expected.set(`kill ${at}`, hook);
      await happen(hook, `kill ${at}`);
      if (at >= ((kills + 1) * EVENTS) / (KILLS + 1)) {
        const victim = running[kills % running.length];
        // It has just begun some attempts, that no other replica knows of.
        const before = receiver.received.length;
        await eventually(() => receiver.received.length > before);
        victim?.kill('SIGKILL');
        await victim?.ended();
        kills += 1;
        if (kills < KILLS) running[(kills - 1) % running.length] = await start(IMPATIENT);
      }
    }
    // The leases of the killed ones would end after some time.
    await owner.query(
      `UPDATE webhook_deliveries SET lease_until = now(), next_attempt_at = now()
        WHERE lease_until IS NOT NULL`,
    );
    await eventually(async () => {
      // An event that is not published yet has no delivery.
      const { rowCount } = await owner.query(
        `SELECT FROM webhook_deliveries WHERE state = 'delivered' AND webhook_id = ANY ($1)`,
        [hooks.map(({ id }) => id)],
      );
      return rowCount === EVENTS;
    });
    const idsOf = new Map<string, Set<string>>();
    const strayed = [];
    for (const webhook of receiver.received) {
      const what = whatOf(webhook);
      if (expected.get(what)?.path !== webhook.path) strayed.push(webhook);
      idsOf.set(what, (idsOf.get(what) ?? new Set()).add(`${webhook.id} ${webhook.body}`));
    }
    const { received, forged } = receiver;
    report.push(
      `${EVENTS} events under ${kills} kills: ${idsOf.size} received in ${received.length} requests, ` +
        `${forged.length} with a wrong signature`,
    );
    expect(kills).toBe(KILLS);
    expect(strayed).toEqual([]);
    expect(receiver.forged).toEqual([]);
    expect([...expected.keys()].filter((what) => idsOf.get(what)?.size !== 1)).toEqual([]);
  });
});
