import { createHmac, randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_PAYMENT_SCOPES, ALL_SCOPES } from '../src/auth';
import { readPaymentSources } from '../src/config';
import { Metrics } from '../src/metrics';
import { PaymentsSandbox } from '../src/sandbox';
import { UsersService } from '../src/users';
import { fetchAs } from './support/api-client';
import { eventually } from './support/built-service';
import { beforeClosing, forAllTests } from './support/fixtures';
import { restorePoint } from './support/restored';
import { createStaff } from './support/staff';
import { startTestService } from './support/test-service';
import { withinOneDay } from './support/within-one-day';

// This service accepts payments from its own sources.

const SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const NEXT_SECRET = `whsec_${randomBytes(32).toString('base64')}`;
const payments = forAllTests(() => PaymentsSandbox.start());
const directory = forAllTests(
  async () => ({ path: await mkdtemp(join(tmpdir(), 'sources-')) }),
  ({ path }) => rm(path, { recursive: true }),
);
const service = forAllTests(async () => {
  const file = join(directory.path, 'sources.json');
  const limits = { max_payment: '500.00', max_day: '1200.00' };
  await writeFile(
    file,
    JSON.stringify({
      bot: { secret: SECRET, ...limits },
      bank: { secret: [SECRET, NEXT_SECRET], ...limits },
    }),
  );
  return startTestService({ payments, environment: { PAYMENT_SOURCES_FILE: file, METRICS_PORT: '0' } });
});
const staff = forAllTests(() => createStaff(service));
beforeClosing(() => service.audit());
withinOneDay();

let references = 0;

interface Sent {
  readonly source?: string;
  readonly secret?: string;
  readonly at?: number;
  readonly tamper?: boolean;
  readonly to?: string;
  readonly encoding?: string;
}

async function report(
  payment: Record<string, unknown>,
  {
    source = 'bot',
    secret = SECRET,
    at = Date.now() / 1000,
    tamper = false,
    to = service.baseUrl,
    encoding = 'identity',
  }: Sent = {},
) {
  const body = JSON.stringify({
    reference: `ref-${(references += 1)}`,
    amount: '100.00',
    paid_at: '2026-11-21T12:00:00Z',
    ...payment,
  });
  const [id, timestamp] = ['msg_1', String(Math.floor(at))];
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  const response = await fetch(`${to}/payments/intake/${source}`, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      'Content-Encoding': encoding,
      'webhook-id': id,
      'webhook-timestamp': timestamp,
      'webhook-signature': `v1,AAAA v1,${signature}`,
    },
    body: tamper ? body.replace('100.00', '999.00') : body,
  });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

const createUser = () => service.createUser({ balance: '0.00' });
const unmatchedCounted = async (): Promise<number> => {
  const [, count = 0] =
    /payments_total\{outcome="unmatched"\} (\d+)/.exec(await service.app.get(Metrics).render()) ?? [];
  return Number(count);
};
const available = async (of: { readonly id: number }) => (await service.balanceOf(of)).available;

describe('A payment of another source', () => {
  it('is credited once for its reference, however often it is reported', async () => {
    const user = await createUser();
    const payment = { reference: 'once', user: { id: user.id } };
    const responses = await Promise.all(Array.from({ length: 8 }, () => report(payment)));
    const credited = { id: expect.any(Number), reference: 'once', state: 'credited', amount: '100.00' };
    for (const response of responses) expect(response).toEqual({ status: 200, body: credited });
    expect(await available(user)).toBe('100.00');
  });

  it('is not credited with a Content-Encoding, which the provider and buyers may send', async () => {
    const user = await createUser();
    const refused = await report({ user: { id: user.id } }, { encoding: 'gzip' });
    expect(refused).toMatchObject({ status: 415, body: { code: 'content-encoding-unsupported' } });
    expect(await available(user)).toBe('0.00');
    const { token } = await service.createUser();
    const post = (path: string) =>
      fetch(`${service.baseUrl}${path}`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${token}`,
          'Content-Encoding': 'gzip',
          'Content-Type': 'application/json',
        },
        body: JSON.stringify({ country: 'ru', period: 30 }),
      });
    expect((await post('/payments/sandbox/notifications')).status).toBe(200);
    expect((await post('/proxies/buy')).status).toBe(200);
    expect([(await post('/proxies/prolong')).status, (await post('/mcp')).status]).toEqual([415, 415]);
  });

  it('is found by the id of Telegram and by the name, if one user has it', async () => {
    const users = service.app.get(UsersService);
    const telegram = await users.create({ username: 'of-telegram', tgId: 7_123_456_780 });
    const named = await users.create({ username: 'named-once' });
    await users.create({ username: 'named-twice' });
    await users.create({ username: 'Named-Twice' });
    expect((await report({ user: { tg_id: 7_123_456_780 } })).body).toMatchObject({ state: 'credited' });
    expect((await report({ user: { username: 'Named-Once' } })).body).toMatchObject({ state: 'credited' });
    expect((await report({ user: { username: 'named-twice' } })).body).toMatchObject({ state: 'unmatched' });
    expect([await available(telegram), await available(named)]).toEqual(['100.00', '100.00']);
  });

  it('is credited with any text of its customer, also with half of a character', async () => {
    const user = await createUser();
    for (const comment of ['cut \ud83d', '\0', '__proto__']) {
      const { status, body } = await report({ user: { id: user.id }, comment });
      expect([status, body]).toEqual([200, expect.objectContaining({ state: 'credited' })]);
    }
    const named = await report({ user: { username: 'a\0\udead' } });
    expect([named.status, named.body]).toEqual([200, expect.objectContaining({ state: 'unmatched' })]);
  });

  it('is the same however its time, its amount and its absent comment are written', async () => {
    const user = await createUser();
    for (const written of [
      {},
      { paid_at: '2026-11-21T12:00:00.000Z', comment: null },
      { paid_at: '2026-11-21T15:00:00+03:00', comment: '' },
      { amount: 100 },
      { amount: '100' },
    ]) {
      const { status, body } = await report({ reference: 'equal', user: { id: user.id }, ...written });
      expect([status, body]).toEqual([200, expect.objectContaining({ state: 'credited', amount: '100.00' })]);
    }
    expect((await report({ reference: 'half', user: { id: user.id }, amount: 0.5 })).status).toBe(200);
    expect(await available(user)).toBe('100.50');
  });

  it('is signed with either secret while a source changes from one to the other', async () => {
    const user = await createUser();
    const status = async (sent: Sent) => (await report({ user: { id: user.id }, amount: '1' }, sent)).status;
    expect(await status({ source: 'bank' })).toBe(200);
    expect(await status({ source: 'bank', secret: NEXT_SECRET })).toBe(200);
    expect(await status({ source: 'bot', secret: NEXT_SECRET })).toBe(401);
  });

  it('waits for staff when no balance can be as large', async () => {
    const user = await createUser();
    await service.dataSource.query(
      `INSERT INTO ledger_entries (user_id, kind, available_delta, held_delta)
       VALUES ($1, 'topup', 999999999999, 0)`,
      [user.id],
    );
    expect((await report({ user: { id: user.id } })).body).toMatchObject({ state: 'unmatched' });
  });

  it.each([
    ['0000-01-01T00:00:00Z', 422],
    ['9999-12-31T23:59:59-12:00', 422],
    ['2026-02-30T12:00:00Z', 422],
    ['2026-11-21T12:00:00+23:59', 200],
  ])('that was made at %s gets %i', async (paidAt, status) => {
    const user = await createUser();
    expect(await report({ user: { id: user.id }, paid_at: paidAt })).toMatchObject({ status });
  });

  it('under a reference of another is refused, and staff decide', async () => {
    const user = await createUser();
    await report({ reference: 'reused', user: { id: user.id } }, { source: 'bank' });
    const before = await unmatchedCounted();
    const other = { reference: 'reused', user: { id: user.id }, amount: '200.00' };
    expect((await report(other, { source: 'bank' })).status).toBe(409);
    expect((await report(other, { source: 'bank' })).status).toBe(409);
    expect(await available(user)).toBe('100.00');
    const { body } = await staff.get<{ items: { reason: string; paid_amount: string }[] }>(
      '/staff/unmatched-payments',
    );
    expect(body.items.filter(({ reason }) => reason === 'reused-reference')).toHaveLength(1);
    expect(await unmatchedCounted()).toBe(before + 1);
  });

  it('of no customer, or above a limit, waits for staff', async () => {
    const user = await createUser();
    expect((await report({ user: { id: 999_999 } })).body).toMatchObject({ state: 'unmatched' });
    const large = await report({ user: { id: user.id }, amount: '500.01' }, { source: 'bank' });
    expect(large.body).toMatchObject({ state: 'unmatched' });
    const matched = await staff.post(`/staff/unmatched-payments/${String(large.body['id'])}/match`, {
      user_id: user.id,
      reason: 'Seen in the bank',
    });
    expect(matched).toMatchObject({ status: 200, body: { state: 'credited', amount: '500.01' } });
    const day = [];
    for (let n = 0; n < 3; n += 1) {
      day.push(await report({ user: { id: user.id }, amount: '400' }, { source: 'bank' }));
    }
    expect(day.map(({ body }) => body['state'])).toEqual(['credited', 'unmatched', 'unmatched']);
    expect(await available(user)).toBe('900.01');
  });

  it('comes from no source whose path is that of another route: the start refuses its name', async () => {
    const file = join(directory.path, 'taken.json');
    const source = { secret: SECRET, max_payment: '1', max_day: '1' };
    await writeFile(file, JSON.stringify({ bot: source, notifications: source }));
    expect(() => readPaymentSources(file)).toThrow(
      'PAYMENT_SOURCES_FILE cannot name a source notifications: another route already uses its path',
    );
  });

  it('is refused without a signature of its source of the last five minutes', async () => {
    const user = await createUser();
    const payment = { user: { id: user.id } };
    const now = Date.now() / 1000;
    const requests: readonly [status: number, sent: Sent, changed?: object][] = [
      [401, { secret: `whsec_${randomBytes(32).toString('base64')}` }],
      [401, { at: now - 310 }],
      [401, { at: now + 310 }],
      [401, { tamper: true }],
      [404, { source: 'unknown' }],
      [422, {}, { amount: '-1' }],
      [422, {}, { amount: '0.001' }],
      [422, {}, { user: { id: user.id, tg_id: 1 } }],
      [422, {}, { reference: 'a b' }],
    ];
    for (const [status, sent, changed] of requests) {
      expect({ sent, changed, ...(await report({ ...payment, ...changed }, sent)) }).toMatchObject({
        status,
      });
    }
    expect(await available(user)).toBe('0.00');
  });
});

describe('After a restore', () => {
  it('payments since then are credited once, and earlier keys and references are honoured', async () => {
    const user = await service.createUser({
      balance: '0.00',
      scopes: [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES],
    });
    const deposit = async (key: string, to = service.baseUrl) => {
      const body = { amount: '100.00' };
      const response = await fetchAs(user, 'POST', `${to}/deposits`, body, { 'Idempotency-Key': key });
      return (await response.json()) as { id: number; state: string };
    };
    const pay = () => [...payments.shop.payments.keys()].forEach((id) => payments.pay(id));
    const hasOf = (balance: string) => eventually(async () => (await available(user)) === balance);
    const before = await deposit('before');
    pay();
    await hasOf('100.00');
    await report({ reference: 'before', user: { id: user.id } });
    await deposit('open');
    const restored = await restorePoint(service);
    await deposit('since');
    pay();
    await hasOf('400.00');

    const { baseUrl } = await restored.start();
    const balance = async () => {
      const rows = await restored.query<{ available: string }>(
        'SELECT available FROM accounts WHERE user_id = $1',
        [user.id],
      );
      return rows[0]?.available;
    };
    await eventually(async () => (await balance()) === '400.00');
    expect(await deposit('before', baseUrl)).toMatchObject({ id: before.id, state: 'succeeded' });
    for (const key of ['open', 'since']) {
      expect(await deposit(key, baseUrl)).toMatchObject({ state: 'succeeded' });
    }
    const again = await report({ reference: 'before', user: { id: user.id } }, { to: baseUrl });
    expect(again).toMatchObject({ status: 200, body: { state: 'credited' } });
    expect(await balance()).toBe('400.00');
    expect(await restored.command(['audit'])).toMatchObject({ ok: true });
    await restored.close();
  });
});
