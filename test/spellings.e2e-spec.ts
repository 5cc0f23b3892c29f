import { createHash, randomBytes } from 'node:crypto';
import { readReference, writeReference } from '../src/agents/prepared-order';
import { generateSecret, isWellFormedSecret } from '../src/auth/token-text';
import { positionOf } from '../src/events';
import { CURSOR_PATTERN, readCursor } from '../src/events/reading/events.query';
import { InputMistake } from '../src/http';
import { readInteger } from '../src/http/validation/readers/read-integer';
import { connectAgent } from './support/agent';
import { forAllTests, forEachTest } from './support/fixtures';
import { SeededRandom } from './support/seeded-random';
import { decorate, mutate } from './support/spellings';
import { sharedTestService } from './support/test-service';

const SEED = 20_261_127;
const TWO = { country: 'RU', period: 30, count: 2 };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');

describe('Another spelling', () => {
  const random = new SeededRandom(SEED);
  const NOW = new Date('2026-11-27T12:00:00Z');
  const tokenHash = randomBytes(32).toString('hex');
  const purchase = { m: '50.16', d: 30, p: ['RU', '6', 2, 'http', true] } as const;
  const prolongation = { m: '1254.00', d: 30, r: Array.from({ length: 50 }, (_, n) => String(n + 1)) };
  const refs = [purchase, prolongation].map(
    (order) => writeReference(structuredClone(order) as never, tokenHash, NOW).ref,
  );
  const spellingsOf = (text: string, count: number, spell = mutate) =>
    Array.from({ length: count }, () => spell(text, random));

  const placingKeys = (text: string): string[] => {
    try {
      return readReference(text, tokenHash, NOW, 90)
        .keys.filter(({ refusal }) => refusal === null)
        .map(({ idempotencyKey }) => idempotencyKey);
    } catch {
      return [];
    }
  };

  it('of an order_ref is the same order_ref or none', () => {
    const found = refs.map((ref) => spellingsOf(ref, 3000).flatMap(placingKeys));
    expect(found.map((keys) => [...new Set(keys)])).toEqual(refs.map((ref) => [sha256(ref)]));
    for (const keys of found) expect(keys.length).toBeGreaterThan(40);
  });

  it('of a token or the secret of a link is none', () => {
    for (const kind of ['token', 'link'] as const) {
      const secret = generateSecret(kind);
      const others = spellingsOf(secret, 1000).filter((text) => text !== secret);
      expect(others.filter((text) => isWellFormedSecret(kind, text))).toEqual([]);
    }
  });

  it('of a cursor or the id of an event is the same or none', () => {
    const accepted = new RegExp(CURSOR_PATTERN, 'u');
    for (const text of spellingsOf('evt_1742', 1000)) {
      const written = text.replace(/^evt_0+(?=\d)/, 'evt_');
      expect([text, null]).toContain(positionOf(text) === null ? null : `evt_${positionOf(text)}`);
      if (accepted.test(text)) expect([`evt_${readCursor(text)}`, 'evt_now']).toContain(written);
    }
    const cursors = spellingsOf('1742', 1000, decorate).map((text) => readInteger(text, { greaterThan: 0 }));
    expect(new Set(cursors.filter((cursor) => !(cursor instanceof InputMistake)))).toEqual(new Set([1742]));
  });
});

describe('Another spelling of an order_ref, called as a tool', () => {
  const service = forAllTests(sharedTestService);
  const buyer = forEachTest(() => service.createUser());
  const agent = forEachTest(() => connectAgent(service.baseUrl, buyer.token));
  afterEach(() => agent.close());
  const random = new SeededRandom(SEED);

  const prepare = async (): Promise<string> =>
    String((await agent.call('prepare_purchase', TWO)).result?.['order_ref']);
  const place = async (order_ref: string) => {
    const { result, error } = await agent.call('place_order', { order_ref });
    if (error?.code === 'preparation-unknown') {
      expect(error.next).toMatch(/exact order_ref text.*equal_orders/);
      expect(error.next).not.toMatch(/prepare/i);
    } else if (error) expect(error.code).toMatch(/^(invalid-arguments|idempotency-key-in-progress)$/);
    return result;
  };
  const keysOfOrders = async () =>
    (await buyer.api.GET('/orders')).data?.items.map(({ idempotency_key: key }) => key);

  it('places the same order or none', async () => {
    const ref = await prepare();
    const around = ['"', '`', '**', ',', ';', '(', ']', '»', '\u00a0', '…', '.', ' \n'];
    const copied = [
      ...around.flatMap((text) => [ref + text, text + ref]),
      `${ref}=`,
      `${ref}==`,
      `"${ref}".`,
    ];
    const others = [
      `${ref}.x`,
      `${ref.slice(0, -4)} ${ref.slice(-4)}`,
      ...['B', 'R', 'h', 'x'].map((text) => ref.slice(0, -1) + text),
      ...Array.from({ length: 150 }, () => mutate(ref, random)),
    ];
    await Promise.all(random.shuffle([...copied, ...others]).map(place));
    const exact = await place(ref);
    expect(await Promise.all(copied.map(place))).toEqual(copied.map(() => ({ ...exact, replayed: true })));
    expect(await keysOfOrders()).toEqual([sha256(ref)]);
  });

  it('returns an order that was placed under the hash of that spelling', async () => {
    const ref = await prepare();
    for (const spelling of [`${ref}.`, `${ref}.x`, `${ref}junk`]) {
      const { data } = await buyer.buy(TWO, sha256(spelling));
      const order_id = data && 'order_id' in data ? data.order_id : undefined;
      expect(await place(spelling)).toMatchObject({ order_id, replayed: true });
    }
    const proxy_ids = (await buyer.api.GET('/proxies')).data?.slice(0, 2).map(({ id }) => id) ?? [];
    const prepared = await agent.call('prepare_prolongation', { proxy_ids, period: 30 });
    const prolongation = String(prepared.result?.['order_ref']);
    const body = { proxy_ids, period: 30, max_price: '50.16' };
    const header = { 'Idempotency-Key': sha256(`${prolongation}==`) };
    await buyer.api.POST('/proxies/prolong', { body, params: { header } });
    expect(await place(`${prolongation}==`)).toMatchObject({ price_charged: '50.16', replayed: true });
    expect((await keysOfOrders())?.length).toBe(5);
    expect(await place(prolongation)).toMatchObject({ price_charged: '50.16', replayed: false });
  });
});
