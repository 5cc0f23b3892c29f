import { EnvironmentError, readEnvironment } from '../src/config/environment';
import { SHOWN_KIND_SQL } from '../src/ledger';
import { LEDGER_ENTRY_KINDS } from '../src/ledger/entry-kinds';
import { REFERENCE_PREFIX_SQL, renewalKey, renewalKeySql } from '../src/orders';
import { bulkOrderKey, bulkOrderKeySql } from '../src/orders/order-keys';
import { ORDER_STATES, type OrderState, publicState } from '../src/orders/order-states';
import { ERROR_OF_REFUSAL } from '../src/orders/placing/order-checks';
import { prolongationEvidence } from '../src/orders/reconciliation/evidence';
import type { ListedProxy } from '../src/provider';
import { CALL_PRIORITIES } from '../src/provider/proxy-provider';
import { MAX_PASSED_OVER } from '../src/provider/rate-permits';
import { toProxyOut } from '../src/proxies/dto/proxy-out.dto';
import { proxyFilterSql } from '../src/proxies/filter/proxy-filter';
import { toProxyFilter } from '../src/proxies/filter/proxy-filter.query';
import type { ProxyFields } from '../src/proxies/proxy';
import { ruleOfProxySql } from '../src/renewals/rule-of-proxy';
import { forAllTests, forEachTest } from './support/fixtures';
import { insertProxies } from './support/proxy-rows';
import { SeededRandom } from './support/seeded-random';
import { unauditedTestService } from './support/test-service';

const PROXY: ProxyFields = {
  id: 1,
  host: 'host',
  port: '1',
  login: 'login',
  password: 'password',
  proxyType: 'http',
  country: 'ru',
  version: '6',
  dateStart: null,
  dateEnd: null,
  withdrawnAt: null,
  label: '',
};

/** Rules written twice: in a database function and in code that does not call the function. */
describe('The database and the code agree on', () => {
  const service = forAllTests(unauditedTestService);
  const random = forEachTest(() => new SeededRandom(32));

  const query = <Row>(text: string, parameters: unknown[] = []): Promise<Row[]> =>
    service.dataSource.query<Row[]>(text, parameters);

  it('what an order reference names, which the provider has to take', async () => {
    const MOST = 999_999_999_999_999;
    const ids = [
      [MOST, MOST],
      ...Array.from({ length: 200 }, () => [
        random.integer(1, 10 ** random.integer(1, 15)),
        random.integer(1, 10 ** random.integer(1, 15)),
      ]),
    ];
    const references = await query<{ reference: string; user: number; order: number }>(
      `SELECT reference, user_id AS user, order_id AS order
         FROM unnest($1::bigint[], $2::bigint[]) WITH ORDINALITY AS given (of_user, of_order, place),
              order_reference_of(${REFERENCE_PREFIX_SQL}, of_user, of_order) AS reference,
              named_by_reference(reference)
        ORDER BY place`,
      [ids.map(([user]) => user), ids.map(([, order]) => order)],
    );
    expect(references.map(({ user, order }) => [user, order])).toEqual(ids);
    for (const { reference } of references) expect(reference).toMatch(/^[\w.:-]{1,50}$/);
    const named = [
      'u1.o1y',
      'u1.o1xx',
      'u1.o1x ',
      'u1.o',
      'u01.o1x',
      'u1.o01x',
      'u0.o1x',
      'u1.o1234567890123456x',
    ];
    const others = [
      '',
      'prs.',
      'prs.x.u1',
      'somebody.else',
      'u1.o2',
      ...named.map((text) => `prs.x.${text}`),
    ];
    expect(
      await query(
        'SELECT user_id, order_id FROM unnest($1::text[]) AS reference, named_by_reference(reference)',
        [others],
      ),
    ).toEqual(others.map(() => ({ user_id: null, order_id: null })));
  });

  it('the keys of orders that renewals and bulks place', async () => {
    const cases = Array.from({ length: 100 }, () => ({
      key: `k-${random.integer(1, 1_000_000)}`,
      id: random.integer(1, 10 ** 12),
      end: new Date(random.integer(1_700_000_000_000, 4_102_444_800_000)),
    }));
    const keys = await query(
      `SELECT ${bulkOrderKeySql('given', 'id')} AS bulk, ${renewalKeySql('id', 'ending')} AS renewal
         FROM unnest($1::text[], $2::bigint[], $3::timestamptz[])
                WITH ORDINALITY AS given (idempotency_key, id, ending, place) ORDER BY place`,
      [cases.map(({ key }) => key), cases.map(({ id }) => id), cases.map(({ end }) => end)],
    );
    expect(keys).toEqual(
      cases.map(({ key, id, end }) => ({ bulk: bulkOrderKey(key, id), renewal: renewalKey(id, end) })),
    );
    // The audit recognises a bulk's orders by their keys, so no renewal may have such a key.
    const [{ renewals, bulks } = { renewals: 0, bulks: 0 }] = await query<{
      renewals: number;
      bulks: number;
    }>(
      `SELECT count(*) FILTER (WHERE renewal LIKE 'renewal % %') AS renewals,
              count(*) FILTER (WHERE bulk LIKE '% %' AND bulk NOT LIKE '% % %') AS bulks
         FROM unnest($1::text[], $2::text[]) AS keys (renewal, bulk)`,
      [cases.map(({ id, end }) => renewalKey(id, end)), cases.map(({ key, id }) => bulkOrderKey(key, id))],
    );
    expect({ renewals, bulks }).toEqual({ renewals: cases.length, bulks: cases.length });
  });

  it('how customers see the state of an order', async () => {
    const shown = await query<{ state: OrderState; shown: string }>(
      'SELECT state, public_state(state) AS shown FROM unnest($1::text[]) AS state',
      [ORDER_STATES],
    );
    expect(shown).toEqual(ORDER_STATES.map((state) => ({ state, shown: publicState(state) })));
  });

  const functionText = async (name: string): Promise<string> => {
    const [row] = await query<{ text: string }>('SELECT prosrc AS text FROM pg_proc WHERE proname = $1', [
      name,
    ]);
    return row?.text ?? '';
  };

  it('why an order cannot be placed', async () => {
    const text = await functionText('order_refusals');
    const refusals = [...text.matchAll(/refusals \|\| '([a-z-]+)'/g)].map(([, word]) => word);
    expect([...new Set(refusals)]).toEqual(Object.keys(ERROR_OF_REFUSAL));
  });

  it('the priorities of calls, and how often one is passed over at most', async () => {
    const text = await functionText('take_rate_permit');
    expect(text).toContain(`generate_series(1, ${CALL_PRIORITIES.length})`);
    expect(text).toContain(`CASE kind WHEN 2 THEN 2 ELSE ${MAX_PASSED_OVER} END`);
    expect(CALL_PRIORITIES[2 - 1]).toBe('confirmation');
  });

  it.each([
    ['HISTORY_DAYS', () => functionText('record_order_state')],
    [
      'AUDIT_LOG_READ_DAYS',
      async () =>
        (
          await query<{ text: string }>(
            `SELECT pg_get_triggerdef(oid) AS text FROM pg_trigger WHERE tgname = 'audit_log_stay'`,
          )
        )[0]?.text ?? '',
    ],
  ])('the fewest days of %s, below which a trigger refuses to remove', async (variable, textOf) => {
    const [, least] = /'(\d+) days'/.exec(await textOf()) ?? [];
    expect(readEnvironment({ [variable]: least })).toBeDefined();
    expect(() => readEnvironment({ [variable]: String(Number(least) - 1) })).toThrow(EnvironmentError);
  });

  it('what an entry of the ledger is called, and which brings money and is logged', async () => {
    const [{ condition, indexed } = { condition: '', indexed: '' }] = await query<Record<string, string>>(
      `SELECT pg_get_triggerdef(oid) AS condition,
              pg_get_indexdef('ledger_entries_shown_kind_idx'::regclass, 2, false) AS indexed
         FROM pg_trigger WHERE tgname = 'ledger_entries_log_event'`,
    );
    const isLogged = /WHEN \((.*)\) EXECUTE/.exec(condition ?? '')?.[1]?.replaceAll('new.', '');
    const entries = await query<{ shown: string; indexed: string; logged: boolean }>(
      `SELECT ${SHOWN_KIND_SQL} AS shown, ${indexed} AS indexed, ${isLogged} AS logged
         FROM unnest($1::text[]) AS kind, unnest('{-1.00,1.00}'::numeric[]) AS available_delta`,
      [LEDGER_ENTRY_KINDS],
    );
    expect(entries).toHaveLength(2 * LEDGER_ENTRY_KINDS.length);
    for (const { shown, indexed: inIndex, logged } of entries) {
      expect({ inIndex, logged }).toEqual({ inIndex: shown, logged: ['credit', 'refund'].includes(shown) });
    }
  });

  it('how far an end of a rental may be from the expected one without being moved', async () => {
    const HOUR_MS = 3_600_000;
    const before = new Date('2026-12-01T12:00:00Z');
    const cases = Array.from({ length: 500 }, (_, n) => {
      const period = random.integer(3, 365);
      const expected = new Date(before.getTime() + period * 24 * HOUR_MS);
      // The bounds, a second around them, and anything within half a day.
      const offMs = random.pick([1, -1]) * 6 * HOUR_MS + random.integer(-1, 1) * 1000;
      const end = new Date(expected.getTime() + (n % 2 ? offMs : random.integer(-12, 12) * HOUR_MS));
      return { period, expected, end };
    });
    const moved = await query<{ moved: boolean }>(
      `SELECT is_prolonged(expected, ending) OR is_prolonged(ending, expected) AS moved
         FROM unnest($1::timestamptz[], $2::timestamptz[]) WITH ORDINALITY AS given (expected, ending, place)
        ORDER BY place`,
      [cases.map(({ expected }) => expected), cases.map(({ end }) => end)],
    );
    const judged = cases.map(({ period, end }) => {
      const listed = { dateEnd: end } as ListedProxy;
      const evidence = prolongationEvidence(
        { period, submittedAt: before },
        { dateEndBefore: before },
        listed,
      );
      return { moved: evidence.kind !== 'prolonged' };
    });
    expect(moved).toEqual(judged);
    expect(new Set(judged.map((one) => one.moved)).size).toBe(2);
  });

  it('which proxies of a user a filter selects, for lists and for renewals', async () => {
    const user = await service.createUser();
    const ids = await insertProxies(service.owner, user.id, 40);
    const COUNTRIES = ['ru', 'de'] as const;
    const LABELS = ['one', 'other'] as const;
    const TAGS = ['a', 'b'] as const;
    for (const id of ids) {
      await service.owner.query('UPDATE proxies SET country = $2, label = $3, tags = $4 WHERE id = $1', [
        id,
        random.pick(COUNTRIES),
        random.pick([...LABELS, null]),
        TAGS.filter(() => random.chance(0.5)),
      ]);
    }
    const sizes = new Set<number>();
    for (let n = 0; n < 30; n += 1) {
      const filter = {
        country: random.pick([...COUNTRIES, null]),
        label: random.pick([...LABELS, null]),
        tag: random.pick([...TAGS, null]),
      };
      const parameters: unknown[] = [user.id];
      const given = (value: unknown) => `$${parameters.push(value)}`;
      const isSelected = proxyFilterSql(toProxyFilter(filter), given, 'now()');
      const listed = await query(
        `SELECT id FROM proxies WHERE user_id = $1 AND ${isSelected} ORDER BY id`,
        parameters,
      );
      const [rule] = await service.owner.query<{ id: number }[]>(
        `INSERT INTO renewal_rules (user_id, country, label, tag, period) VALUES ($1, $2, $3, $4, 30)
         RETURNING id`,
        [user.id, filter.country, filter.label, filter.tag],
      );
      const renewed = await query(
        `SELECT proxies.id FROM proxies JOIN LATERAL (${ruleOfProxySql()}) AS rule ON rule.id = $2
          WHERE proxies.user_id = $1 ORDER BY proxies.id`,
        [user.id, rule?.id],
      );
      await service.owner.query('UPDATE renewal_rules SET disabled_at = now() WHERE id = $1', [rule?.id]);
      expect({ filter, renewed }).toEqual({ filter, renewed: listed });
      sizes.add(listed.length);
    }
    expect(sizes.size).toBeGreaterThan(2);
  });

  it('the text of a moment', async () => {
    const moments = Array.from({ length: 200 }, () => new Date(random.integer(0, 4_102_444_800_000)));
    const texts = await query<{ text: string; seconds: string; microseconds: string }>(
      `SELECT iso_text(moment) AS text, iso_text(moment, '') AS seconds,
              iso_text(moment, '.US') AS microseconds
         FROM unnest($1::timestamptz[]) WITH ORDINALITY AS given (moment, place) ORDER BY place`,
      [moments],
    );
    expect(texts).toEqual(
      moments.map((moment) => ({
        text: moment.toISOString(),
        seconds: toProxyOut({ ...PROXY, dateEnd: moment }, moment).date_end,
        microseconds: moment.toISOString().replace('Z', '000Z'),
      })),
    );
  });
});
