import { SERVICE_VERSION, type SystemClock } from '../src/common';
import { Metrics } from '../src/metrics';
import { DeliveryService } from '../src/webhooks/delivery/delivery.service';
import { eventually } from './support/built-service';
import { forAllTests } from './support/fixtures';
import { captureLog } from './support/log-capture';
import { startOtlpReceiver } from './support/otlp-receiver';
import { startTestService } from './support/test-service';
import { startWebhookReceiver, TEST_SECRET } from './support/webhook-receiver';

/** Pauses are ten thousand times shorter: 0.5 ms, 6 ms, 30 ms, 180 ms, 0.7 s and so on. */
const RETRY_SECONDS = 26;

interface DeliveryRow {
  readonly state: string;
  readonly attempts: number;
  readonly leaseUntil: Date | null;
  readonly inSeconds: number | null;
}

interface WebhookRow {
  readonly fails: boolean;
  readonly failures: number;
  readonly reason: string | null;
}

describe('Delivery of webhooks', () => {
  let paths = 0;

  // Pauses are short, and the tests count all deliveries.
  const log = forAllTests(captureLog);
  const traces = forAllTests(startOtlpReceiver);
  const receiver = forAllTests(startWebhookReceiver, async (opened) => {
    await opened.close();
    expect(opened.forged).toEqual([]);
  });
  const service = forAllTests(() =>
    startTestService({
      environment: { LOG_LEVEL: 'debug', METRICS_PORT: '0', TRACES_URL: traces.url },
      tuning: { webhookRetrySeconds: RETRY_SECONDS },
      jobIntervalsMs: { 'send-webhooks': 100 },
    }),
  );
  beforeEach(() => {
    receiver.responder = () => 204;
    receiver.received.length = 0;
  });

  const owner = <Row>(statement: string, parameters: unknown[] = []): Promise<Row[]> =>
    service.owner.query(statement, parameters);

  async function createWebhook(): Promise<{ id: number; userId: number; path: string }> {
    const { id: userId } = await service.createUser({ balance: '0.00' });
    const path = `/hook/${(paths += 1)}?secret=of-a-customer`;
    const [row] = await owner<{ id: number }>(
      'INSERT INTO webhooks (user_id, url, secret, types) VALUES ($1, $2, $3, ARRAY[]::text[]) RETURNING id',
      [userId, receiver.url + path, TEST_SECRET],
    );
    return { id: row?.id ?? 0, userId, path };
  }

  function deliver(webhook: { id: number; userId: number }, sets = 'attempts = 0'): Promise<number> {
    return service.owner.transaction(async (manager) => {
      const [row] = await manager.query<{ id: number }[]>(
        `WITH event AS (
           INSERT INTO events (user_id, type, data, position)
           VALUES ($2, 'proxy.moved', '{"proxy_id": "17"}', nextval('event_positions')) RETURNING id
         )
         INSERT INTO webhook_deliveries (webhook_id, event_id) SELECT $1, id FROM event RETURNING id`,
        [webhook.id, webhook.userId],
      );
      const id = row?.id ?? 0;
      await manager.query(`UPDATE webhook_deliveries SET ${sets} WHERE id = $1`, [id]);
      return id;
    });
  }

  async function deliveryOf(id: number): Promise<DeliveryRow | undefined> {
    const [row] = await owner<DeliveryRow>(
      `SELECT state, attempts, lease_until AS "leaseUntil",
              extract(epoch FROM next_attempt_at - now())::float8 AS "inSeconds"
         FROM webhook_deliveries WHERE id = $1`,
      [id],
    );
    return row;
  }

  async function webhookOf(id: number): Promise<WebhookRow | undefined> {
    const [row] = await owner<WebhookRow>(
      `SELECT failing_since IS NOT NULL AS fails, failures_in_a_row AS failures, disabled_reason AS reason
         FROM webhooks WHERE id = $1`,
      [id],
    );
    return row;
  }

  const attemptsOf = (deliveryId: number) =>
    owner<{ status: number | null; response: string | null; error: string | null; duration_ms: number }>(
      'SELECT status, response, error, duration_ms FROM webhook_attempts WHERE delivery_id = $1 ORDER BY id',
      [deliveryId],
    );

  const untilState = (id: number, state: string): Promise<DeliveryRow> =>
    eventually(async () => {
      const row = await deliveryOf(id);
      return row?.state === state && row.leaseUntil === null && row;
    });

  const untilAttempted = (id: number, times: number) =>
    eventually(async () => {
      const attempts = await attemptsOf(id);
      return attempts.length >= times && attempts;
    });

  it('sends the event with the headers of Standard Webhooks, whose signature verifies', async () => {
    const webhook = await createWebhook();
    const id = await deliver(webhook);
    await untilState(id, 'delivered');
    const [sent, ...more] = receiver.of(webhook.path);
    expect(more).toEqual([]);
    expect(JSON.parse(sent?.body ?? '')).toEqual({
      id: sent?.id,
      type: 'proxy.moved',
      at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: { proxy_id: '17' },
    });
    expect(sent?.id).toMatch(/^evt_\d+$/);
    expect(sent?.headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': `proxy-rental-service/${SERVICE_VERSION}`,
    });
    expect(await attemptsOf(id)).toEqual([
      { status: 204, response: '', error: null, duration_ms: expect.any(Number) },
    ]);
  });

  it('sends again after a failure with the same id, and stores the response of each attempt', async () => {
    const webhook = await createWebhook();
    const statuses = [500, 302, 404, 200];
    receiver.responder = ({ path }, response) => {
      // Other tests' deliveries may still be retried.
      if (path !== webhook.path) return 204;
      response.writeHead(statuses.shift() ?? 200).end('x'.repeat(3000));
      return undefined;
    };
    const id = await deliver(webhook);
    expect(await untilState(id, 'delivered')).toMatchObject({ attempts: 4 });
    expect(new Set(receiver.of(webhook.path).map((sent) => sent.id)).size).toBe(1);
    const response = 'x'.repeat(1024);
    expect(await attemptsOf(id)).toMatchObject([
      { status: 500, response, error: 'the status 500 does not mean success' },
      { status: 302, response, error: 'redirects are not followed' },
      { status: 404, response, error: 'the status 404 does not mean success' },
      { status: 200, response, error: null },
    ]);
    expect(await webhookOf(webhook.id)).toEqual({ fails: false, failures: 0, reason: null });
  });

  it('records an attempt without a response', async () => {
    const webhook = await createWebhook();
    await owner(`UPDATE webhooks SET url = 'http://10.1.2.3/' WHERE id = $1`, [webhook.id]);
    const [attempt] = await untilAttempted(await deliver(webhook), 1);
    expect(attempt).toMatchObject({ status: null, response: null, error: 'the address is not public' });
    expect(await webhookOf(webhook.id)).toMatchObject({ fails: true });
  });

  it('gives an event up after its last attempt', async () => {
    const webhook = await createWebhook();
    receiver.responder = () => 500;
    expect(await untilState(await deliver(webhook, 'attempts = 10'), 'failed')).toMatchObject({
      attempts: 11,
      inSeconds: null,
    });
    expect(receiver.of(webhook.path)).toHaveLength(1);
  });

  it('sends nothing to a webhook again before Retry-After is over', async () => {
    const webhook = await createWebhook();
    receiver.responder = (_, response) => void response.writeHead(429, { 'Retry-After': '20' }).end();
    const id = await deliver(webhook);
    await untilAttempted(id, 1);
    const row = await deliveryOf(id);
    expect(row?.inSeconds).toBeGreaterThan(10);
    expect(row?.inSeconds).toBeLessThanOrEqual(20);
    const [other, fine] = [await deliver(webhook), await createWebhook()];
    receiver.responder = () => 204;
    await untilState(await deliver(fine), 'delivered');
    expect(await deliveryOf(other)).toMatchObject({ state: 'pending', attempts: 0 });
  });

  it('waits no longer than the whole delivery may take, with any Retry-After', async () => {
    const webhook = await createWebhook();
    receiver.responder = (_, response) => void response.writeHead(503, { 'Retry-After': '999999' }).end();
    const id = await deliver(webhook);
    await untilAttempted(id, 1);
    expect((await deliveryOf(id))?.inSeconds).toBeLessThanOrEqual(RETRY_SECONDS);
  });

  const warnings = () => log.lines.filter((line) => line.startsWith('{"level":"warn"'));

  it.each([
    ['gone', 410, 0, 'its receiver is gone'],
    ['failing', 500, RETRY_SECONDS + 1, 'it has failed for too long'],
  ])('disables a webhook with an event and a warning: %s', async (reason, status, seconds, why) => {
    const webhook = await createWebhook();
    await owner(
      `UPDATE webhooks SET failing_since = now() - make_interval(secs => $2) WHERE id = $1 AND $2 > 0`,
      [webhook.id, seconds],
    );
    receiver.responder = () => status;
    const id = await deliver(webhook);
    await eventually(async () => (await webhookOf(webhook.id))?.reason === reason);
    const events = await owner<{ data: object }>(
      `SELECT data FROM events WHERE user_id = $1 AND type = 'webhook.disabled'`,
      [webhook.userId],
    );
    expect(events).toEqual([{ data: { webhook_id: webhook.id, reason } }]);
    const line = `webhook ${webhook.id} of user ${webhook.userId} is disabled: ${why}: 127.0.0.1:`;
    await eventually(() => warnings().some((warning) => warning.includes(line)));

    const waiting = await deliver(webhook);
    receiver.responder = () => 204;
    const other = await createWebhook();
    await untilState(await deliver(other), 'delivered');
    expect(await deliveryOf(waiting)).toMatchObject({ state: 'pending', attempts: 0 });
    await owner(
      `UPDATE webhooks SET disabled_at = NULL, disabled_reason = NULL, failing_since = NULL,
              failures_in_a_row = 0, paused_until = NULL WHERE id = $1`,
      [webhook.id],
    );
    await untilState(waiting, 'delivered');
    await untilState(id, 'delivered');
  });

  it('keeps a webhook enabled whose URL was changed before its former receiver returned 410', async () => {
    const webhook = await createWebhook();
    receiver.responder = (_received, response) => {
      receiver.responder = () => 204;
      void owner(`UPDATE webhooks SET url = url || '&moved' WHERE id = $1`, [webhook.id]).then(() =>
        response.writeHead(410).end(),
      );
      return undefined;
    };
    const id = await deliver(webhook);
    await untilState(id, 'delivered');
    expect(await attemptsOf(id)).toMatchObject([{ status: 410 }, { status: 204 }]);
    expect(await webhookOf(webhook.id)).toEqual({ fails: false, failures: 0, reason: null });
  });

  it('keeps a webhook enabled that accepted an event, however long another has failed', async () => {
    const webhook = await createWebhook();
    await owner(`UPDATE webhooks SET failing_since = now() - interval '1 hour' WHERE id = $1`, [webhook.id]);
    await untilState(await deliver(webhook), 'delivered');
    receiver.responder = () => 500;
    await untilState(await deliver(webhook, 'attempts = 10'), 'failed');
    expect(await webhookOf(webhook.id)).toEqual({ fails: true, failures: 1, reason: null });
  });

  it('leaves leased deliveries to their replica, until the lease ends', async () => {
    const webhook = await createWebhook();
    const [held, lapsed] = [
      await deliver(
        webhook,
        `lease_until = now() + interval '1 hour', next_attempt_at = now() + interval '1 hour'`,
      ),
      await deliver(
        webhook,
        `lease_until = now() - interval '1 s', next_attempt_at = now() - interval '1 s'`,
      ),
    ];
    await untilState(lapsed, 'delivered');
    expect(await deliveryOf(held)).toMatchObject({ state: 'pending', attempts: 0 });
  });

  it('does not begin an attempt that could outlast its lease, because the claim took too long', async () => {
    const webhook = await createWebhook();
    const clock = Reflect.get(service.app.get(DeliveryService), 'clock') as SystemClock;
    const slow = jest.spyOn(clock, 'moment').mockReturnValue(clock.moment(3001));
    const late = await deliver(webhook);
    await eventually(async () => (await deliveryOf(late))?.leaseUntil);
    slow.mockRestore();
    await untilState(await deliver(webhook), 'delivered');
    expect(receiver.of(webhook.path)).toHaveLength(1);
    expect(await deliveryOf(late)).toMatchObject({ state: 'pending', attempts: 0 });
  });

  it('does not store the result of an attempt whose lease another replica has', async () => {
    const webhook = await createWebhook();
    let id = 0;
    receiver.responder = (_received, response) => {
      void owner(`UPDATE webhook_deliveries SET lease_until = lease_until + interval '1 s' WHERE id = $1`, [
        id,
      ]).then(() => response.writeHead(204).end());
      return undefined;
    };
    id = await deliver(webhook, `next_attempt_at = now() + interval '1 hour'`);
    await owner(`UPDATE webhook_deliveries SET next_attempt_at = now() WHERE id = $1`, [id]);
    await eventually(() => receiver.of(webhook.path).length === 1);
    receiver.responder = () => 204;
    await untilState(await deliver(webhook), 'delivered');
    expect(await deliveryOf(id)).toMatchObject({ state: 'pending', attempts: 0 });
    expect(await attemptsOf(id)).toEqual([]);
  });

  it('sends no more than the limit to a webhook at a time, and only one event once it fails', async () => {
    const webhook = await createWebhook();
    const timeoutMs = 500;
    const replaced = jest.replaceProperty(
      Reflect.get(service.app.get(DeliveryService), 'sender'),
      'timeoutMs',
      timeoutMs,
    );
    receiver.responder = () => 'hang';
    for (let at = 0; at < 12; at += 1) await deliver(webhook, `next_attempt_at = now() + interval '1 hour'`);
    await owner('UPDATE webhook_deliveries SET next_attempt_at = now() WHERE webhook_id = $1', [webhook.id]);
    await eventually(async () => ((await webhookOf(webhook.id))?.failures ?? 0) >= 8);
    expect(receiver.mostAtOnce(webhook.path)).toBe(8);
    // By then, deliveries claimed before the third failure have timed out.
    const arrivals = () => receiver.of(webhook.path);
    const failing = () =>
      arrivals().filter(({ atMs }) => atMs > (arrivals()[11]?.atMs ?? Infinity) + timeoutMs);
    await eventually(() => failing().length > 1);
    expect(new Set(failing().map(({ atOnce }) => atOnce))).toEqual(new Set([1]));
    await owner(`UPDATE webhooks SET disabled_at = now(), disabled_reason = 'operator' WHERE id = $1`, [
      webhook.id,
    ]);
    replaced.restore();
  });

  it('has metrics and spans of attempts, and no log line has a path', async () => {
    await untilState(await deliver(await createWebhook()), 'delivered');
    const refusing = await createWebhook();
    receiver.responder = () => 500;
    await untilAttempted(await deliver(refusing), 1);
    await deliver(refusing, `next_attempt_at = now() + interval '1 hour'`);
    const text = await service.app.get(Metrics).render();
    expect(text).toMatch(/^proxy_rental_webhook_attempts_total\{outcome="delivered"\} [1-9]/m);
    expect(text).toMatch(/^proxy_rental_webhook_attempts_total\{outcome="refused"\} [1-9]/m);
    expect(text).toMatch(/^proxy_rental_webhook_attempt_duration_seconds_count [1-9]/m);
    expect(text).toMatch(/^proxy_rental_job_pending\{name="send-webhooks"\} [1-9]/m);
    expect(text).toMatch(/^proxy_rental_job_oldest_seconds\{name="send-webhooks"\} \d/m);
    expect(text).toMatch(/^proxy_rental_webhooks_disabled 0/m);
    for (const reason of ['gone', 'failing', 'customer']) {
      const { id } = await createWebhook();
      await owner('UPDATE webhooks SET disabled_at = now(), disabled_reason = $2 WHERE id = $1', [
        id,
        reason,
      ]);
    }
    expect(await service.app.get(Metrics).render()).toMatch(/^proxy_rental_webhooks_disabled 2/m);
    const span = await eventually(() =>
      traces.spans.find(
        ({ name, attributes }) => name === 'webhooks.attempt' && attributes['webhook.outcome'] === 'refused',
      ),
    );
    expect(Object.keys(span.attributes).sort()).toEqual([
      'http.response.status_code',
      'webhook.id',
      'webhook.outcome',
    ]);
    expect(JSON.stringify(traces.spans)).not.toMatch(/of-a-customer|\/hook/);
    expect(log.lines.join('')).not.toMatch(/of-a-customer|\/hook\//);
  });
});
