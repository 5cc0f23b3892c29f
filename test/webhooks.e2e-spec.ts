import type { ServerResponse } from 'node:http';
import { IntegrityService } from '../src/integrity';
import { holdPublishing } from '../src/webhooks/enabling';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { forAllTests, forEachTest } from './support/fixtures';
import { createStaff } from './support/staff';
import { lockRow, untilWaiting } from './support/table-lock';
import { startTestService } from './support/test-service';
import { startWebhookReceiver } from './support/webhook-receiver';

const MOST_WEBHOOKS = 3;
const URL = 'https://127.0.0.2/hooks?key=sesame';
const MOMENT = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

// Users may have few webhooks.
const service = forAllTests(() =>
  startTestService({ environment: { MAX_WEBHOOKS_PER_USER: String(MOST_WEBHOOKS) } }),
);
const user = forEachTest(() => service.createUser());

interface Webhook {
  readonly id: number;
  readonly secret: string;
  readonly [field: string]: unknown;
}
interface Delivery {
  readonly webhook: number;
  readonly type: string;
  readonly state: string;
}

const send = async (method: string, path: string, body?: object, owner = user) => {
  const response = await fetchAs(owner, method, service.baseUrl + path, body);
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
};

async function create(settings: object = {}, owner = user): Promise<Webhook> {
  const { status, body } = await send('POST', '/webhooks', { url: URL, ...settings }, owner);
  expect({ status, body }).toEqual({ status: 201, body: expect.anything() });
  return body as Webhook;
}

async function write(type: string): Promise<{ id: number } | undefined> {
  const [event] = await service.dataSource.query<{ id: number }[]>(
    `INSERT INTO events (user_id, type, data) VALUES ($1, $2, '{}') RETURNING id`,
    [user.id, type],
  );
  return event;
}

/** Waits until the event is published, because publishing creates its deliveries. */
async function happen(type: string): Promise<string> {
  const event = await write(type);
  return eventually(async () => {
    const [published] = await service.dataSource.query<{ position: number | null }[]>(
      'SELECT position FROM events WHERE id = $1',
      [event?.id],
    );
    const position = published?.position ?? 0;
    return position > 0 && `evt_${position}`;
  });
}

async function disablings(): Promise<object[]> {
  const events = await service.dataSource.query<{ data: object }[]>(
    `SELECT data FROM events WHERE user_id = $1 AND type = 'webhook.disabled'`,
    [user.id],
  );
  return events.map(({ data }) => data);
}

/** Made-up events break the other invariants. */
async function auditWebhooks(): Promise<void> {
  const { invariants } = await service.app.get(IntegrityService).run();
  const [check] = invariants.filter(({ name }) => name === 'events-reach-their-webhooks');
  expect(check).toMatchObject({ violations: 0 });
}

const deliveries = ({ id } = user): Promise<Delivery[]> =>
  service.dataSource.query<Delivery[]>(
    `SELECT webhook_id AS webhook, event.type, delivery.state
       FROM webhook_deliveries delivery JOIN events event ON event.id = event_id
      WHERE event.user_id = $1 ORDER BY event.position, webhook_id`,
    [id],
  );

describe('A webhook', () => {
  it('gets the events of its types that are published while it is enabled', async () => {
    await happen('order.completed');
    const all = await create();
    const some = await create({ types: ['order.completed'] });
    const stranger = await service.createUser();
    await create({}, stranger);
    await happen('order.completed');
    await happen('proxy.moved');
    await send('PATCH', `/webhooks/${all.id}`, { enabled: false });
    await happen('order.completed');
    await send('PATCH', `/webhooks/${all.id}`, { enabled: true, types: ['proxy.moved'] });
    await happen('order.completed');
    await happen('proxy.moved');
    const logged = (await deliveries()).filter(({ type }) => !/^(token|balance|webhook)/.test(type));
    expect(logged.map(({ webhook, type }) => [webhook, type])).toEqual([
      [all.id, 'order.completed'],
      [some.id, 'order.completed'],
      [all.id, 'proxy.moved'],
      [some.id, 'order.completed'],
      [some.id, 'order.completed'],
      [all.id, 'proxy.moved'],
    ]);
    expect((await deliveries(stranger)).filter(({ type }) => /^(order|proxy)/.test(type))).toEqual([]);
    await auditWebhooks();
  });

  it('publishes the waiting events itself before it keeps others from publishing', async () => {
    const runner = service.dataSource.createQueryRunner();
    await runner.query('SELECT pg_advisory_lock(publishing_lock())');
    await write('test');
    const unpublished = () =>
      service.dataSource.query('SELECT id FROM events WHERE user_id = $1 AND position IS NULL', [user.id]);
    expect(await unpublished()).not.toEqual([]);
    await runner.startTransaction();
    await holdPublishing(runner.manager);
    await runner.commitTransaction();
    expect(await unpublished()).toEqual([]);
    await runner.query('SELECT pg_advisory_unlock(publishing_lock())');
    await runner.release();
  });

  it('shows its secret once, and lists what its customer has', async () => {
    const types = ['order.completed', 'proxy.expiring'];
    const webhook = await create({ types, description: 'The billing script' });
    const { secret, ...shown } = webhook;
    expect(secret).toMatch(/^whsec_[0-9A-Za-z+/]{43}=$/);
    expect(shown).toEqual({
      id: expect.any(Number),
      url: URL,
      types,
      description: 'The billing script',
      enabled: true,
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
      previous_secret_until: null,
      created_at: MOMENT,
    });
    const all = await create();
    expect(await send('GET', `/webhooks/${webhook.id}`)).toEqual({ status: 200, body: shown });
    const first = await send('GET', '/webhooks?limit=1');
    expect(first).toEqual({ status: 200, body: { items: [shown], next_cursor: webhook.id } });
    const second = await send('GET', `/webhooks?limit=1&cursor=${webhook.id}`);
    expect(second.body).toMatchObject({ items: [{ id: all.id, types: null }], next_cursor: null });
  });

  it('is of its customer alone', async () => {
    const webhook = await create();
    const stranger = await service.createUser();
    const path = `/webhooks/${webhook.id}`;
    const requests: [string, string, object?][] = [
      ['GET', path],
      ['PATCH', path, { url: URL }],
      ['DELETE', path],
      ['POST', `${path}/secret`, {}],
      ['GET', `${path}/attempts`],
      ['POST', `${path}/replay`, { since: '2026-01-01T00:00:00Z' }],
      ['POST', `${path}/test`],
    ];
    for (const [method, target, body] of requests) {
      expect([method, target, await send(method, target, body, stranger)]).toMatchObject([
        method,
        target,
        { status: 404, body: { detail: 'Webhook not found' } },
      ]);
    }
    const event = await happen('order.completed');
    const other = await create({}, stranger);
    expect(await send('POST', `/webhooks/${other.id}/replay`, { event_id: event }, stranger)).toMatchObject({
      status: 404,
      body: { detail: 'Event not found' },
    });
    expect((await send('GET', '/webhooks', undefined, stranger)).body).toMatchObject({
      items: [{ id: other.id }],
    });
  });

  it.each([
    ['an address that is no URL', 'example.com/hooks'],
    ['a URL of another scheme', 'ftp://example.com/hooks'],
    ['a URL without a host', 'https:///'],
    ['a URL with credentials', 'https://boris:secret@example.com/'],
    ['a URL with a fragment', 'https://example.com/#hooks'],
    ['a very long URL', `https://example.com/${'x'.repeat(2000)}`],
  ])('is not made for %s', async (_, url) => {
    const { status, body } = await send('POST', '/webhooks', { url });
    expect({ status, body }).toMatchObject({ status: 422, body: { detail: [{ loc: ['body', 'url'] }] } });
  });

  it.each([
    ['the address is not public', 'https://10.1.2.3/hooks'],
    ['the address is not public', 'https://0xa010203/hooks'],
    ['the address is not public', 'https://[::ffff:10.1.2.3]/hooks'],
    ['the port must be 80, 443, or 1024 and above', 'https://127.0.0.1:22/hooks'],
  ])('is neither made nor changed when %s: %s', async (why, url) => {
    const refusal = { status: 400, body: { detail: `Events cannot be sent to this URL: ${why}` } };
    expect(await send('POST', '/webhooks', { url })).toMatchObject(refusal);
    const { id } = await create();
    expect(await send('PATCH', `/webhooks/${id}`, { url })).toMatchObject(refusal);
    expect((await send('GET', `/webhooks/${id}`)).body).toMatchObject({ url: URL });
  });

  it('is not made for plain HTTP, unknown types, or beyond the number that a user may have', async () => {
    const url = 'http://127.0.0.1/hooks';
    const refusal = { status: 400, body: { detail: 'The URL must begin with https://' } };
    expect(await send('POST', '/webhooks', { url })).toMatchObject(refusal);
    for (const types of [[], ['order.lost'], ['test'], 'order.completed']) {
      expect([types, (await send('POST', '/webhooks', { url: URL, types })).status]).toEqual([types, 422]);
    }
    const attempts = await Promise.all(
      Array.from({ length: MOST_WEBHOOKS + 2 }, () => send('POST', '/webhooks', { url: URL })),
    );
    const made = attempts.filter(({ status }) => status === 201);
    expect(made).toHaveLength(MOST_WEBHOOKS);
    expect(attempts.filter(({ status }) => status === 409)).toHaveLength(2);
    const [id] = made.map(({ body }) => (body as Webhook).id);
    expect(await send('PATCH', `/webhooks/${id}`, { url })).toMatchObject(refusal);
    expect(await send('DELETE', `/webhooks/${id}`)).toEqual({ status: 204, body: null });
    await create();
  });

  it('is changed in the named fields, and its customer gets an event when it is disabled', async () => {
    const { id, secret: _, ...made } = await create({ types: ['order.completed'], description: 'mine' });
    const path = `/webhooks/${id}`;
    const url = 'https://127.0.0.3/other';
    expect((await send('PATCH', path, { url })).body).toEqual({ id, ...made, url });
    expect((await send('PATCH', path, { types: null, description: null })).body).toEqual({
      id,
      ...made,
      url,
      types: null,
      description: null,
    });
    const off = { enabled: false, disabled_at: MOMENT, disabled_reason: 'customer' };
    expect((await send('PATCH', path, { enabled: false })).body).toMatchObject(off);
    expect((await send('PATCH', path, { enabled: false })).body).toMatchObject(off);
    expect(await disablings()).toEqual([{ webhook_id: id, reason: 'customer' }]);
    const on = { enabled: true, disabled_at: null, disabled_reason: null };
    expect((await send('PATCH', path, { enabled: true })).body).toMatchObject(on);
  });

  it('has not failed yet at another URL', async () => {
    const { id } = await create();
    const since = new Date(Date.now() - 60_000).toISOString();
    await service.owner.query('UPDATE webhooks SET failing_since = $2, failures_in_a_row = 9 WHERE id = $1', [
      id,
      since,
    ]);
    expect((await send('PATCH', `/webhooks/${id}`, { url: URL })).body).toMatchObject({
      failing_since: since,
    });
    const url = 'https://127.0.0.3/other';
    expect((await send('PATCH', `/webhooks/${id}`, { url })).body).toMatchObject({ failing_since: null });
    const rows = await service.dataSource.query('SELECT failures_in_a_row FROM webhooks WHERE id = $1', [id]);
    expect(rows).toEqual([{ failures_in_a_row: 0 }]);
  });

  it('has its old secret for some time next to a new one, and an even older one no longer', async () => {
    const { id } = await create();
    const secrets = async () => {
      const [row] = await service.dataSource.query<{ secret: string; previous: string | null }[]>(
        'SELECT secret, previous_secret AS previous FROM webhooks WHERE id = $1',
        [id],
      );
      return row;
    };
    const first = (await secrets())?.secret;
    const renew = async (body: object) =>
      (await send('POST', `/webhooks/${id}/secret`, body)).body as Webhook;
    const second = await renew({});
    expect(second).toEqual({ secret: expect.stringMatching(/^whsec_/), previous_secret_until: MOMENT });
    const hoursLeft = (Date.parse(String(second['previous_secret_until'])) - Date.now()) / 3600_000;
    expect(Math.round(hoursLeft)).toBe(24);
    expect(await secrets()).toEqual({ secret: second.secret, previous: first });
    expect((await send('GET', `/webhooks/${id}`)).body).toMatchObject({
      previous_secret_until: second['previous_secret_until'],
    });
    const third = await renew({ overlap_hours: 2 });
    expect(await secrets()).toEqual({ secret: third.secret, previous: second.secret });
    const last = await renew({ overlap_hours: 0 });
    expect(last).toMatchObject({ previous_secret_until: null });
    expect(await secrets()).toEqual({ secret: last.secret, previous: null });
    expect((await send('POST', `/webhooks/${id}/secret`, { overlap_hours: 200 })).status).toBe(422);
  });

  it('is deleted with its secrets at once, and with what it was sent soon after', async () => {
    const { id } = await create();
    await happen('order.completed');
    expect(await send('DELETE', `/webhooks/${id}`)).toEqual({ status: 204, body: null });
    expect((await send('GET', `/webhooks/${id}`)).status).toBe(404);
    const rows = () =>
      service.dataSource.query<object[]>(
        'SELECT url, secret, previous_secret AS previous FROM webhooks WHERE id = $1',
        [id],
      );
    expect(await rows()).toEqual([{ url: '', secret: null, previous: null }]);
    await happen('order.completed');
    expect((await deliveries()).filter(({ type }) => type === 'order.completed')).toHaveLength(1);
    expect((await service.runJob('retention'))?.['deleted_webhooks']).toBeGreaterThan(0);
    expect([await rows(), await deliveries()]).toEqual([[], []]);
  });
});

describe('Replaying', () => {
  const close = (id: number, state: 'delivered' | 'failed') =>
    service.dataSource.query(
      `UPDATE webhook_deliveries SET state = $2, closed_at = now(), next_attempt_at = NULL, lease_until = NULL
        WHERE webhook_id = $1`,
      [id, state],
    );
  const replay = (id: number, body: object) => send('POST', `/webhooks/${id}/replay`, body);
  const since = new Date(Date.now() - 3600_000).toISOString();
  const states = async () =>
    (await deliveries())
      .filter(({ type }) => type.startsWith('order'))
      .map(({ type, state }) => `${type} ${state}`);

  it('sends what failed and what was missed, and what was delivered only when asked', async () => {
    const early = await happen('order.partial');
    const { id } = await create({ types: ['order.completed', 'order.partial'] });
    await happen('order.completed');
    await close(id, 'failed');
    await happen('order.completed');
    expect(await replay(id, { since })).toEqual({ status: 200, body: { replayed: 2, next_after: null } });
    expect(await states()).toEqual([
      'order.partial pending',
      'order.completed pending',
      'order.completed pending',
    ]);
    expect((await replay(id, { since })).body).toEqual({ replayed: 0, next_after: null });
    await close(id, 'delivered');
    expect((await replay(id, { since })).body).toMatchObject({ replayed: 0 });
    expect((await replay(id, { event_id: early })).body).toEqual({ replayed: 1, next_after: null });
    expect(await states()).toEqual([
      'order.partial pending',
      'order.completed delivered',
      'order.completed delivered',
    ]);
    expect((await replay(id, { since, include_delivered: true })).body).toMatchObject({ replayed: 2 });
    const later = new Date(Date.now() + 3600_000).toISOString();
    expect((await replay(id, { since: later })).body).toEqual({ replayed: 0, next_after: null });
    await auditWebhooks();
  });

  it('is bounded, and returns where the next request goes on', async () => {
    const { id } = await create({ types: ['order.completed'] });
    await service.owner.query(
      `INSERT INTO events (user_id, type, data, at, position)
       -- The later a transaction ends, the older an event can be at its position.
       SELECT $1, 'order.completed', '{}', now() - n * interval '1 ms', nextval('event_positions')
         FROM generate_series(1, 10050) AS n`,
      [user.id],
    );
    const first = (await replay(id, { since })).body as { replayed: number; next_after: string };
    expect(first).toEqual({ replayed: 10_000, next_after: expect.stringMatching(/^evt_\d+$/) });
    const rest = { since, after: first.next_after };
    expect((await replay(id, rest)).body).toEqual({ replayed: 50, next_after: null });
    expect(
      await service.dataSource.query(
        `SELECT count(*) AS missing FROM events
          WHERE user_id = $1 AND type = 'order.completed'
            AND id NOT IN (SELECT event_id FROM webhook_deliveries WHERE webhook_id = $2)`,
        [user.id, id],
      ),
    ).toEqual([{ missing: 0 }]);
    await send('DELETE', `/webhooks/${id}`);
  });

  it('is done twice at once for a user at most', async () => {
    await happen('order.completed');
    const { id } = await create({ types: ['order.completed'] });
    const held = await lockRow(service.owner, `SELECT FROM webhooks WHERE id = ${id} FOR UPDATE`);
    const replays = [1, 2, 3].map(() => replay(id, { since }));
    expect(await Promise.race(replays)).toMatchObject({ status: 429 });
    await held.release();
    expect((await Promise.all(replays)).filter(({ status }) => status === 200)).toHaveLength(2);
    expect((await replay(id, { since })).status).toBe(200);
  });

  it.each([
    ['one event', (event: string) => ({ event_id: event })],
    ['the events since a moment', () => ({ since })],
  ])('of %s returns 410 when retention removes an event meanwhile', async (_, requested) => {
    const old = await happen('order.completed');
    const { id } = await create({ types: ['order.completed'] });
    const replaying = await service.owner.transaction(async (owner) => {
      await owner.query('DELETE FROM events WHERE position = $1', [old.slice('evt_'.length)]);
      const response = replay(id, requested(old));
      await untilWaiting(service.owner, 'WITH chosen');
      return [response];
    });
    expect(await replaying[0]).toMatchObject({
      status: 410,
      body: { detail: expect.stringMatching(/^Some of these events were removed/) },
    });
    await happen('order.completed');
    await close(id, 'failed');
    expect((await replay(id, { since })).body).toEqual({ replayed: 1, next_after: null });
  });

  it('is refused when it names nothing or too much, and while the webhook is disabled', async () => {
    const { id } = await create();
    const event = await happen('order.completed');
    const detail = 'Send either event_id or since. The field after can be sent only together with since';
    const what = { status: 400, body: { detail } };
    expect(await replay(id, {})).toMatchObject(what);
    expect(await replay(id, { event_id: event, since })).toMatchObject(what);
    expect(await replay(id, { event_id: event, after: event })).toMatchObject(what);
    expect((await replay(id, { event_id: 'evt_999999999' })).status).toBe(404);
    for (const eventId of ['4711', 'evt_0', 'evt_1x', 'EVT_1', 'evt_99999999999999999']) {
      expect([eventId, (await replay(id, { event_id: eventId })).status]).toEqual([eventId, 422]);
    }
    await send('PATCH', `/webhooks/${id}`, { enabled: false });
    const off = { status: 409, body: { detail: 'The webhook is disabled' } };
    expect(await replay(id, { since })).toMatchObject(off);
    expect(await send('POST', `/webhooks/${id}/test`)).toMatchObject(off);
  });
});

describe('A test event', () => {
  it('goes to the webhook that requested it, with any types, and to no other', async () => {
    const { id } = await create({ types: ['order.completed'] });
    await create();
    expect(await send('POST', `/webhooks/${id}/test`)).toEqual({ status: 204, body: null });
    const tests = () => deliveries().then((all) => all.filter(({ type }) => type === 'test'));
    await eventually(async () => (await tests()).length > 0);
    await happen('order.completed');
    expect((await tests()).map(({ webhook }) => webhook)).toEqual([id]);
  });

  it('is made some times in a minute for each user', async () => {
    const { id } = await create();
    const other = await create();
    const stranger = await service.createUser();
    const theirs = await create({}, stranger);
    const statuses: number[] = [];
    // A minute may end in between.
    for (let at = 0; at < 15; at += 1) {
      for (const webhook of [id, other.id]) {
        statuses.push((await send('POST', `/webhooks/${webhook}/test`)).status);
      }
    }
    expect(statuses.filter((status) => status === 204).length).toBeLessThanOrEqual(20);
    expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(10);
    expect((await send('POST', `/webhooks/${theirs.id}/test`, undefined, stranger)).status).toBe(204);
  });
});

describe('What is sent', () => {
  const receiver = forAllTests(startWebhookReceiver);

  it('is not sent twice at once when it is replayed meanwhile', async () => {
    const { id } = await create({ types: ['order.completed'] });
    const path = `/hooks/${id}`;
    const held: ServerResponse[] = [];
    receiver.trust(path);
    receiver.responder = (_, response) => void held.push(response);
    await service.dataSource.query('UPDATE webhooks SET url = $2 WHERE id = $1', [id, receiver.url + path]);
    const event = await happen('order.completed');
    await eventually(() => held.length === 1);
    const replayed = await send('POST', `/webhooks/${id}/replay`, { event_id: event });
    expect(replayed).toEqual({ status: 200, body: { replayed: 0, next_after: null } });
    receiver.responder = () => 204;
    for (const response of held) response.writeHead(204).end();
    await eventually(async () => (await deliveries()).some(({ state }) => state === 'delivered'));
    expect(receiver.of(path)).toHaveLength(1);
  });

  it('is verified by each secret that is valid, while they change and afterwards', async () => {
    const { id, secret } = await create({ types: ['order.completed'] });
    const path = `/hooks/${id}`;
    await service.dataSource.query('UPDATE webhooks SET url = $2 WHERE id = $1', [id, receiver.url + path]);
    const renew = async (body: object) =>
      ((await send('POST', `/webhooks/${id}/secret`, body)).body as Webhook).secret;
    const signatures = async (event: string): Promise<number> => {
      const [sent] = await eventually(() => {
        const found = receiver.of(path).filter((webhook) => webhook.id === event);
        return found.length > 0 && found;
      });
      return String(sent?.headers['webhook-signature']).split(' ').length;
    };

    receiver.trust(path, secret);
    expect(await signatures(await happen('order.completed'))).toBe(1);
    receiver.trust(path, secret, await renew({}));
    expect(await signatures(await happen('order.completed'))).toBe(2);
    receiver.trust(path, await renew({ overlap_hours: 0 }));
    const last = await happen('order.completed');
    expect([await signatures(last), receiver.forged]).toEqual([1, []]);

    const attempts = await eventually(async () => {
      const { items } = (await send('GET', `/webhooks/${id}/attempts`)).body as { items: object[] };
      return items.length === 3 && items;
    });
    expect(attempts[0]).toEqual({
      id: expect.any(Number),
      at: MOMENT,
      event_id: last,
      event_type: 'order.completed',
      status: 204,
      duration_ms: expect.any(Number),
      response: '',
      error: null,
      state: 'delivered',
      next_attempt_at: null,
    });
    await send('POST', `/webhooks/${id}/replay`, { event_id: last });
    await eventually(() => receiver.of(path).filter((webhook) => webhook.id === last).length === 2);
    await send('POST', `/webhooks/${id}/test`);
    const test = await eventually(() =>
      receiver.of(path).find(({ body }) => (JSON.parse(body) as { type: string }).type === 'test'),
    );
    expect(JSON.parse(test.body)).toEqual({
      id: test.id,
      type: 'test',
      at: MOMENT,
      data: { webhook_id: id },
    });
    expect(receiver.forged).toEqual([]);
  });
});

describe('Staff', () => {
  const staff = forAllTests(() => createStaff(service, ['staff:users', 'staff:audit']));

  const list = async (query: string) => {
    const { status, body } = await staff.get<{ items: { id: number }[] }>(
      `/staff/webhooks?user_id=${user.id}${query}`,
    );
    expect(status).toBe(200);
    return body.items;
  };

  it('see which webhooks are disabled and which fail, and only the host of the URL', async () => {
    const types = ['order.completed'];
    const on = await create({ types });
    const off = await create({ types });
    const failing = await create({ types });
    await send('PATCH', `/webhooks/${off.id}`, { enabled: false });
    await service.dataSource.query('UPDATE webhooks SET failing_since = now() WHERE id = $1', [failing.id]);
    const all = await list('');
    expect(all.map(({ id }) => id)).toEqual([failing.id, off.id, on.id]);
    expect(all[2]).toEqual({
      id: on.id,
      user_id: user.id,
      username: 'test',
      host: '127.0.0.2',
      types,
      created_at: MOMENT,
      disabled_at: null,
      disabled_reason: null,
      failing_since: null,
      links: expect.anything(),
    });
    expect(JSON.stringify(all)).not.toMatch(/sesame|whsec_/);
    expect((await list('&disabled=true')).map(({ id }) => id)).toEqual([off.id]);
    expect((await list('&disabled=false')).map(({ id }) => id)).toEqual([failing.id, on.id]);
    expect((await list('&failing=true')).map(({ id }) => id)).toEqual([failing.id]);
  });

  it('disable a webhook, which only they enable again, with the reason in the log', async () => {
    const { id } = await create();
    const path = `/staff/webhooks/${id}`;
    const off = await staff.post(`${path}/disable`, { reason: 'floods' });
    expect(off).toMatchObject({ status: 200, body: { disabled_at: MOMENT, disabled_reason: 'operator' } });
    expect(await send('PATCH', `/webhooks/${id}`, { enabled: true })).toMatchObject({
      status: 409,
      body: { detail: 'The operator has disabled the webhook' },
    });
    expect(await disablings()).toEqual([{ webhook_id: id, reason: 'operator' }]);
    await staff.post(`${path}/enable`, { reason: 'settled' });
    expect((await send('GET', `/webhooks/${id}`)).body).toMatchObject({ enabled: true });
    const { body } = await staff.get<{ items: { action: string }[] }>(`/staff/actions?target=webhook:${id}`);
    expect(body.items.map(({ action }) => action)).toEqual(['webhooks.enable', 'webhooks.disable']);
    expect(JSON.stringify(body)).not.toMatch(/sesame|whsec_/);
    expect((await staff.post('/staff/webhooks/999999/disable', { reason: 'test' })).status).toBe(404);
  });

  it('disable a receiver for its user, also if webhooks are deleted and created meanwhile', async () => {
    const off = { enabled: false, disabled_reason: 'operator' };
    const on = { enabled: true, disabled_reason: null };
    const state = async (id: number) => (await send('GET', `/webhooks/${id}`)).body;
    const disable = (id: number) => staff.post(`/staff/webhooks/${id}/disable`, { reason: 'floods' });
    const first = await create();
    const mate = await create({ url: 'https://127.0.0.2:443/mate' });
    const elsewhere = await create({ url: 'https://127.0.0.2:8443/hooks' });
    await disable(first.id);
    expect(await state(mate.id)).toMatchObject(off);
    expect(await state(elsewhere.id)).toMatchObject(on);

    for (const { id } of [first, mate]) await send('DELETE', `/webhooks/${id}`);
    const again = await create();
    expect(again).toMatchObject(off);
    expect(await create({ url: 'https://127.0.0.2./other' })).toMatchObject(off);
    expect((await send('PATCH', `/webhooks/${again.id}`, { enabled: true })).status).toBe(409);
    expect((await send('PATCH', `/webhooks/${elsewhere.id}`, { url: URL })).body).toMatchObject(off);
    expect(await create({}, await service.createUser())).toMatchObject(on);
    await auditWebhooks();

    await staff.post(`/staff/webhooks/${again.id}/enable`, { reason: 'settled' });
    expect(((await send('GET', '/webhooks')).body as { items: object[] }).items).toMatchObject([on, on, on]);
    await send('DELETE', `/webhooks/${again.id}`);
    expect(await create()).toMatchObject(on);
  });

  it('disable a receiver while its user creates webhooks for it', async () => {
    const { id } = await create();
    const [, ...made] = await Promise.all([
      staff.post(`/staff/webhooks/${id}/disable`, { reason: 'floods' }),
      create(),
      create(),
    ]);
    for (const webhook of made) {
      expect((await send('GET', `/webhooks/${webhook.id}`)).body).toMatchObject({ enabled: false });
    }
  });

  it('leave webhooks that users disabled to them, but only where nothing else is disabled', async () => {
    const { id } = await create();
    const { id: mine } = await create();
    await send('PATCH', `/webhooks/${mine}`, { enabled: false });
    await staff.post(`/staff/webhooks/${id}/disable`, { reason: 'floods' });
    expect((await send('PATCH', `/webhooks/${mine}`, { enabled: true })).status).toBe(409);
    await staff.post(`/staff/webhooks/${id}/enable`, { reason: 'settled' });
    expect((await send('GET', `/webhooks/${mine}`)).body).toMatchObject({ disabled_reason: 'customer' });
    expect((await send('PATCH', `/webhooks/${mine}`, { enabled: true })).status).toBe(200);
  });
});
