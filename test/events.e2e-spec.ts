import { drain } from '../src/application';
import { ALL_SCOPES, TokensService } from '../src/auth';
import { EventPageReader, EventReadingService } from '../src/events';
import { eventually } from './support/built-service';
import { openEventStream } from './support/event-stream';
import { forAllTests, forEachTest } from './support/fixtures';
import { startReplica } from './support/replica';
import { createStaff } from './support/staff';
import { startTestService, type TestService } from './support/test-service';

interface ReadEvent {
  readonly id: string;
  readonly type: string;
  readonly at: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Page {
  readonly items: readonly ReadEvent[];
  readonly next_cursor: string;
}

describe('Events', () => {
  // All who wait are counted, and old events are removed.
  const service = forAllTests(() => startTestService({ environment: { EVENT_DAYS: '30' } }));
  const replica = forAllTests(() => startReplica(service));
  const user = forEachTest(() => service.createUser());
  afterEach(() => {
    jest.restoreAllMocks();
  });

  const waits = ({ app }: TestService = service) => app.get(EventPageReader).awaited;
  const untilWaiting = (count: number, at?: TestService) => eventually(() => waits(at).count() === count);

  async function read(
    query = '',
    {
      token = user.token,
      baseUrl = service.baseUrl,
      signal,
    }: { token?: string; baseUrl?: string; signal?: AbortSignal } = {},
  ): Promise<{ status: number; body: Page & { detail?: unknown } }> {
    const response = await fetch(`${baseUrl}/events?${query}`, {
      headers: { Authorization: `Bearer ${token}` },
      ...(signal && { signal }),
    });
    return { status: response.status, body: (await response.json()) as Page };
  }

  /** Writes events as a change does: they are published a moment later. */
  const write = (types: readonly string[], userId = user.id): Promise<unknown> =>
    service.dataSource.query(
      `INSERT INTO events (user_id, type, data)
       SELECT $1, type, jsonb_build_object('n', n) FROM unnest($2::text[]) WITH ORDINALITY AS one (type, n)`,
      [userId, types],
    );

  const untilPublished = () =>
    eventually(async () => {
      const left = await service.dataSource.query<object[]>(
        'SELECT FROM events WHERE position IS NULL LIMIT 1',
      );
      return left.length === 0;
    });

  async function writePublished(types: readonly string[], userId = user.id): Promise<void> {
    await write(types, userId);
    await untilPublished();
  }

  /** The cursor after everything that there is. */
  const now = async (): Promise<string> => {
    await untilPublished();
    return (await read('after=now')).body.next_cursor;
  };

  const typesOf = ({ items }: Page) => items.map(({ type }) => type);
  const numbersOf = ({ items }: Page) => items.map(({ data }) => data['n']);

  describe('that are read page by page', () => {
    it('show what happened to the user, oldest first, and to no other user', async () => {
      const other = await service.createUser();
      await untilPublished();
      const { status, body } = await read();
      expect(status).toBe(200);
      expect(typesOf(body)).toEqual(['balance.credited', 'token.created']);
      expect(body.items[0]).toEqual({
        id: expect.stringMatching(/^evt_[1-9]\d*$/),
        type: 'balance.credited',
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        data: { seq: 1, order_id: null, amount: '10000.00', available: '10000.00' },
      });
      const theirs = await read('', { token: other.token });
      expect(theirs.body.items.map(({ id }) => id)).not.toEqual(
        expect.arrayContaining(body.items.map(({ id }) => id)),
      );
    });

    it('come once each, in order, with the cursor of the response before', async () => {
      const cursor = await now();
      await writePublished([...Array.from({ length: 7 }, () => 'proxy.moved'), 'test']);
      const first = await read(`after=${cursor}&limit=3`);
      const second = await read(`after=${first.body.next_cursor}&limit=3`);
      const third = await read(`after=${second.body.next_cursor}&limit=3`);
      expect([first, second, third].map(({ body }) => numbersOf(body))).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
      const end = await read(`after=${third.body.next_cursor}`);
      expect(end.body.items).toEqual([]);
      expect((await read(`after=${end.body.next_cursor}`)).body.items).toEqual([]);
      // The id of an event is a cursor as well.
      expect(numbersOf((await read(`after=${second.body.items[0]?.id}`)).body)).toEqual([5, 6, 7]);
    });

    it('are found by their types, however many others there are', async () => {
      const cursor = await now();
      // One search reads a thousand.
      const many = Array.from({ length: 1100 }, () => 'proxy.moved');
      await writePublished([...many, 'order.completed', ...many, 'proxy.expired']);
      const found = await read(`after=${cursor}&type=proxy.expired,order.completed&limit=1`);
      expect(typesOf(found.body)).toEqual(['order.completed']);
      const next = await read(`after=${found.body.next_cursor}&type=proxy.expired,order.completed`);
      expect(typesOf(next.body)).toEqual(['proxy.expired']);
      const none = await read(`after=${cursor}&type=balance.low`);
      expect(none.body).toEqual({ items: [], next_cursor: await now() });
    });

    it('move the cursor on also when they are those of others', async () => {
      const cursor = await now();
      await writePublished(['proxy.moved'], (await service.createUser()).id);
      const { body } = await read(`after=${cursor}`);
      expect(body.items).toEqual([]);
      expect(Number(body.next_cursor.slice(4))).toBeGreaterThan(Number(cursor.slice(4)));
    });

    it('are refused after a cursor that no response had, which would skip those up to it', async () => {
      const last = Number((await now()).slice('evt_'.length));
      for (const query of [`after=evt_${last + 1}`, `after=evt_${last + 1000}&wait=30`]) {
        const { status, body } = await read(query);
        expect([query, status, body.detail]).toEqual([
          query,
          422,
          [expect.objectContaining({ type: 'cursor_unknown', loc: ['query', 'after'] })],
        ]);
      }
      const lastEventId = `evt_${last + 1}`;
      const stream = await openEventStream(service.baseUrl, '/events', { token: user.token, lastEventId });
      expect(stream.status).toBe(422);
      stream.close();
      // A restore loses events whose cursors were given out, and skips their positions.
      await service.dataSource.query('SELECT skip_ids(1000)');
      const { status, body } = await read(`after=evt_${last + 900}`);
      expect([status, body]).toEqual([200, { items: [], next_cursor: `evt_${last + 900}` }]);
      await writePublished(['proxy.moved']);
      expect(numbersOf((await read(`after=evt_${last + 900}`)).body)).toEqual([1]);
    });

    it.each([
      ['after=yesterday', ['query', 'after']],
      ['after=evt_9999999999999999', ['query', 'after']],
      ['type=order.lost', ['query', 'type']],
      ['wait=31', ['query', 'wait']],
      ['wait=-1', ['query', 'wait']],
      ['limit=201', ['query', 'limit']],
      ['cursor=1', ['query', 'cursor']],
    ])('are refused for %s', async (query, loc) => {
      const { status, body } = await read(query);
      expect([status, body.detail]).toEqual([422, [expect.objectContaining({ loc })]]);
    });
  });

  describe('that are no longer kept', () => {
    it('are reported as gone, and reading continues at the oldest stored one', async () => {
      const cursor = await now();
      await writePublished(['proxy.moved', 'proxy.moved', 'proxy.expired']);
      await service.owner.query(
        `UPDATE events SET at = at - interval '31 days'
          WHERE position <= (SELECT max(position) FROM events) - 1`,
      );
      await service.runJob('retention');
      const gone = await read(`after=${cursor}&wait=30`);
      expect(gone).toMatchObject({
        status: 410,
        body: { detail: expect.stringContaining('continue without `after`') },
      });
      const oldest = await read();
      expect(numbersOf(oldest.body)).toEqual([3]);
      // The last event that was removed is the last one whose cursor skips nothing.
      const last = Number(oldest.body.items[0]?.id.slice(4)) - 1;
      expect(numbersOf((await read(`after=evt_${last}`)).body)).toEqual([3]);
      expect((await read(`after=evt_${last - 1}`)).status).toBe(410);
      const stream = await openEventStream(service.baseUrl, '/events', {
        token: user.token,
        lastEventId: cursor,
      });
      expect([stream.status, stream.contentType]).toEqual([410, 'application/json; charset=utf-8']);
      stream.close();
    });
  });

  describe('that are waited for', () => {
    it('are returned as soon as they come, at any replica', async () => {
      const cursor = await now();
      // Here, the notification of other replicas is enough.
      jest.spyOn(waits() as unknown as { poll: () => Promise<void> }, 'poll').mockResolvedValue();
      for (const baseUrl of [service.baseUrl, replica.baseUrl]) {
        const waiting = read(`after=${cursor}&wait=30`, { baseUrl });
        if (baseUrl === service.baseUrl) await untilWaiting(1);
        await write(['order.completed']);
        expect(typesOf((await waiting).body)).toContain('order.completed');
      }
    });

    it('are returned immediately when they are there, and without any when the time is over', async () => {
      const cursor = await now();
      const begunMs = performance.now();
      const { body } = await read(`after=${cursor}&wait=1`);
      expect(performance.now() - begunMs).toBeGreaterThanOrEqual(1000);
      expect(body).toEqual({ items: [], next_cursor: expect.stringMatching(/^evt_\d+$/) });
      await write(['order.completed']);
      expect(typesOf((await read(`after=${body.next_cursor}&wait=30`)).body)).toEqual(['order.completed']);
    });

    it('do not return for events of other types, nor of other users', async () => {
      const cursor = await now();
      const waiting = read(`after=${cursor}&wait=30&type=proxy.expired`);
      await untilWaiting(1);
      await write(['proxy.moved']);
      await writePublished(['proxy.expired'], (await service.createUser()).id);
      await write(['proxy.expired']);
      expect(typesOf((await waiting).body)).toEqual(['proxy.expired']);
    });

    it('are not returned to a token that was revoked, or whose user was blocked, meanwhile', async () => {
      const staff = await createStaff(service, ['staff:tokens', 'staff:users']);
      const issue = async () => service.app.get(TokensService).issue({ userId: user.id, scopes: ALL_SCOPES });
      const [revoked, remaining] = [await issue(), await issue()];
      const cursor = await now();
      const waiting = [revoked, remaining].map(({ text }) =>
        read(`after=${cursor}&wait=30&type=proxy.moved`, { token: text }),
      );
      await untilWaiting(2);
      await staff.post(`/staff/tokens/${revoked.token.id}/revoke`, { reason: 'test' });
      await write(['proxy.moved']);
      expect((await Promise.all(waiting)).map(({ status }) => status)).toEqual([401, 200]);
      const blocked = read(`after=${await now()}&wait=30`, { token: remaining.text });
      await untilWaiting(1);
      await staff.post(`/staff/users/${user.id}/block`, { reason: 'test' });
      await write(['proxy.moved']);
      expect((await blocked).status).toBe(403);
    });

    it('cost some statements, however many wait, and one each second while nothing happens', async () => {
      const users = await Promise.all([service.createUser(), service.createUser()]);
      const cursor = await now();
      const callers = new AbortController();
      const waiting = users.flatMap(({ token }) =>
        Array.from({ length: 12 }, () =>
          read(`after=${cursor}&wait=30&type=proxy.expired`, { token, signal: callers.signal }),
        ),
      );
      await untilWaiting(24);
      const statements: string[] = [];
      const looksMs: number[] = [];
      jest.spyOn(service.dataSource.logger, 'logQuery').mockImplementation((statement) => {
        const isOfOthers = /publish_events|position IS NULL|webhook/.test(statement);
        if (!/\bevents\b/.test(statement) || isOfOthers) return;
        statements.push(statement);
        if (!statement.includes('row_limit')) looksMs.push(performance.now());
      });
      await eventually(() => looksMs.length > 2);
      const [first = 0, , third = 0] = looksMs;
      expect(third - first).toBeGreaterThan(1000);
      // The token of the last user was published a moment ago.
      expect(statements.length - looksMs.length).toBeLessThan(5);
      statements.length = 0;
      await write(['proxy.expired'], users[0]?.id);
      await Promise.all(waiting.slice(0, 12));
      // The write, at most a look or two, and a page for all waits of the user.
      expect(statements.length).toBeLessThan(10);
      expect(waits().count()).toBe(12);
      callers.abort();
      await Promise.allSettled(waiting);
      await untilWaiting(0);
    });
  });

  describe('as a stream', () => {
    const open = (query = '', options: { token?: string; lastEventId?: string; baseUrl?: string } = {}) =>
      openEventStream(options.baseUrl ?? service.baseUrl, `/events?${query}`, {
        token: user.token,
        ...options,
      });

    it('come as they happen, each with its cursor, its type and the event itself', async () => {
      const cursor = await now();
      const stream = await open(`after=${cursor}`);
      expect([stream.status, stream.contentType]).toEqual([200, 'text/event-stream; charset=utf-8']);
      await write(['order.completed', 'proxy.moved']);
      const [first, second] = await stream.take(2);
      expect([first?.event, second?.event]).toEqual(['order.completed', 'proxy.moved']);
      const { body } = await read(`after=${cursor}`);
      expect([first, second].map((message) => JSON.parse(message?.data ?? ''))).toEqual(body.items);
      expect([first?.id, second?.id]).toEqual(body.items.map(({ id }) => id));
      stream.close();
      await untilWaiting(0);
    });

    it('go on from the last id at another replica, with any cursor in the URL', async () => {
      const cursor = await now();
      await writePublished(['proxy.moved', 'proxy.expired', 'proxy.moved', 'proxy.expired']);
      const first = await open(`after=${cursor}&type=proxy.expired`);
      const [message] = await first.take(1);
      first.close();
      const second = await open(`after=${cursor}&type=proxy.expired`, {
        lastEventId: message?.id ?? '',
        baseUrl: replica.baseUrl,
      });
      const [next] = await second.take(1);
      expect([message, next].map((one) => JSON.parse(one?.data ?? '').data.n)).toEqual([2, 4]);
      second.close();
      const refused = await open('', { lastEventId: 'mine' });
      expect(refused.status).toBe(422);
      refused.close();
    });

    it('send whole backlogs, page by page', async () => {
      const cursor = await now();
      await writePublished(Array.from({ length: 70 }, () => 'proxy.moved'));
      const stream = await open(`after=${cursor}&limit=10`);
      const messages = await stream.take(70);
      expect(messages.map(({ data }) => JSON.parse(data).data.n)).toEqual(
        Array.from({ length: 70 }, (_, n) => n + 1),
      );
      stream.close();
    });

    it('end when their token is revoked', async () => {
      const { text, token } = await service.app
        .get(TokensService)
        .issue({ userId: user.id, scopes: ['events:read'] });
      const stream = await open('after=now', { token: text });
      await untilWaiting(1);
      await service.app.get(EventReadingService).recheckAll();
      expect(stream.hasEnded()).toBe(false);
      await service.app.get(TokensService).revoke(token.id);
      await service.app.get(EventReadingService).recheckAll();
      await stream.ended();
      await untilWaiting(0);
    });
  });

  describe('the settings', () => {
    it('have a threshold, which is reported once when the balance falls below it', async () => {
      expect((await user.api.GET('/events/settings')).data).toEqual({ balance_low: null });
      const cursor = await now();
      const put = await user.api.PUT('/events/settings', { body: { balance_low: '9990.00' } });
      expect(put.data).toEqual({ balance_low: '9990.00' });
      expect((await user.api.GET('/events/settings')).data).toEqual({ balance_low: '9990.00' });
      for (let n = 0; n < 2; n += 1) {
        expect((await user.buy()).response.status).toBe(200);
      }
      await untilPublished();
      const { body } = await read(`after=${cursor}&type=balance.low`);
      expect(body.items).toEqual([
        expect.objectContaining({ data: { available: '9974.92', threshold: '9990.00' } }),
      ]);
      await user.api.PUT('/events/settings', { body: { balance_low: null } });
      expect((await user.api.GET('/events/settings')).data).toEqual({ balance_low: null });
    });

    it.each(['-1', '0', '1.005', 'plenty'])('refuse %s', async (balance_low) => {
      const { response } = await user.api.PUT('/events/settings', { body: { balance_low } });
      expect(response.status).toBe(422);
    });
  });

  describe('at a replica that is stopping', () => {
    const stopping = forAllTests(startTestService);

    it('are no longer waited for, and their streams end', async () => {
      const { token } = await stopping.createUser();
      const headers = { Authorization: `Bearer ${token}` };
      // The events of the new user may come after now.
      const poll = () =>
        fetch(`${stopping.baseUrl}/events?after=now&type=order.completed&wait=30`, { headers });
      const waiting = poll();
      const stream = await openEventStream(stopping.baseUrl, '/events?after=now', { token });
      await untilWaiting(2, stopping);
      drain(stopping.app);
      const response = await waiting;
      expect([response.status, response.headers.get('connection')]).toEqual([200, 'close']);
      await stream.ended();
      const begunMs = performance.now();
      expect((await poll()).status).toBe(200);
      expect(performance.now() - begunMs).toBeLessThan(20_000);
      const late = poll();
      const lateStream = await openEventStream(stopping.baseUrl, '/events?after=now', { token });
      await lateStream.ended();
      expect((await late).status).toBe(200);
    });
  });
});
