import { SeededRandom } from '../../test/support/seeded-random';
import type { IpVersion } from '../common';
import { type MarkupRule, ruleApplies, periodsOf, type PricedOffer, MarkupResolver } from './markup-resolver';

const DEFAULT = '20';
const NOW_MS = Date.parse('2027-01-01T00:00:00Z');
const USERS = [null, 1, 2];
const COUNTRIES = [null, 'ru', 'us'];
const VERSIONS: readonly (IpVersion | null)[] = [null, '6', '4s'];
const PERIODS = [
  [null, null],
  [30, null],
  [null, 30],
  [30, 30],
  [1, 3650],
  [7, 60],
] as const;

let lastId = 0;
const rule = (changes: Partial<MarkupRule> = {}): MarkupRule => ({
  id: (lastId += 1),
  userId: null,
  country: null,
  version: null,
  minPeriod: null,
  maxPeriod: null,
  markupPercent: '10',
  validFrom: new Date(NOW_MS - 1000),
  validTo: null,
  ...changes,
});

const offer = (changes: Partial<PricedOffer> = {}): PricedOffer => ({
  userId: 1,
  country: null,
  version: '6',
  period: 30,
  ...changes,
});

const choose = (rules: readonly MarkupRule[], of: PricedOffer = offer(), atMs = NOW_MS) =>
  new MarkupResolver(rules, DEFAULT).choose(of, atMs);

const rank = ({ userId, country, version, ...scope }: MarkupRule): number[] => [
  Number(userId !== null),
  Number(country !== null),
  Number(version !== null),
  -periodsOf({ userId, country, version, ...scope }),
  scope.id,
];

function isMoreSpecific(one: MarkupRule, other: MarkupRule): boolean {
  const [left, right] = [rank(one), rank(other)];
  const place = left.findIndex((value, index) => value !== right[index]);
  return place >= 0 && (left[place] ?? 0) > (right[place] ?? 0);
}

const everyScope = (): MarkupRule[] =>
  USERS.flatMap((userId) =>
    COUNTRIES.flatMap((country) =>
      VERSIONS.flatMap((version) =>
        PERIODS.map(([minPeriod, maxPeriod]) => rule({ userId, country, version, minPeriod, maxPeriod })),
      ),
    ),
  );

const everyOffer = (): PricedOffer[] =>
  [null, 1, 2, 3].flatMap((userId) =>
    [null, 'ru', 'us', 'de'].flatMap((country) =>
      (['6', '4', '4s'] as const).flatMap((version) =>
        [1, 7, 29, 30, 31, 60, 61, 3650].map((period) => ({ userId, country, version, period })),
      ),
    ),
  );

describe('The choice among all combinations of rules', () => {
  it.each([1, 2, 3, 4, 5])(
    'finds a rule that fits, and none that fits is more specific (seed %i)',
    (seed) => {
      // While rules are removed, each becomes the most specific one at some point.
      let rules = new SeededRandom(seed).shuffle(everyScope());
      for (; rules.length > 0; rules = rules.slice(rules.length / 3 + 1)) {
        const resolver = new MarkupResolver(rules, DEFAULT);
        const wrong = everyOffer().filter((of) => {
          const fitting = rules.filter((one) => ruleApplies(one, of));
          const chosen = resolver.findMostSpecific(of, NOW_MS);
          if (!chosen) return fitting.length > 0;
          return !fitting.includes(chosen) || fitting.some((one) => isMoreSpecific(one, chosen));
        });
        expect(wrong).toEqual([]);
      }
    },
  );

  it('never charges more than is quoted, and charges the quote where no country is cheaper', () => {
    for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
      const random = new SeededRandom(seed);
      const percents = random.shuffle(everyScope().map((_, index) => `${index % 40}.${index % 10}`));
      const rules = random
        .shuffle(everyScope())
        .slice(0, 20 * seed)
        .map((one, index) => ({ ...one, markupPercent: percents[index] ?? '0' }));
      const resolver = new MarkupResolver(rules, DEFAULT);
      const withoutCountries = new MarkupResolver(
        rules.filter(({ country }) => country === null),
        DEFAULT,
      );
      const choices = everyOffer().map((of) => {
        const quoted = resolver.choose({ ...of, country: null }, NOW_MS);
        const charged = resolver.choose(of, NOW_MS);
        const mostSpecific = resolver.findMostSpecific(of, NOW_MS);
        const isCheaper = Number(mostSpecific?.markupPercent ?? DEFAULT) < Number(quoted.percent);
        return { of, quoted, charged, ruleId: isCheaper ? mostSpecific?.id : quoted.ruleId };
      });
      expect(choices.map(({ quoted }) => quoted)).toEqual(
        choices.map(({ of }) => withoutCountries.choose({ ...of, country: null }, NOW_MS)),
      );
      expect(choices.map(({ charged }) => charged.ruleId)).toEqual(choices.map(({ ruleId }) => ruleId));
      expect(
        choices.filter(({ quoted, charged }) => Number(charged.percent) > Number(quoted.percent)),
      ).toEqual([]);
    }
  });
});

describe('The markup', () => {
  it('is the default when no rule fits', () => {
    const elsewhere = [
      rule({ userId: 2 }),
      rule({ country: 'us' }),
      rule({ version: '4' }),
      rule({ minPeriod: 31 }),
      rule({ maxPeriod: 29 }),
    ];
    expect(choose(elsewhere, offer({ country: 'ru' }))).toEqual({ percent: DEFAULT, ruleId: null });
  });

  it.each<[winner: Partial<MarkupRule>, loser: Partial<MarkupRule>]>([
    [{ userId: 1 }, { country: 'ru', version: '6', minPeriod: 30, maxPeriod: 30 }],
    [{ country: 'ru' }, { version: '6', minPeriod: 30, maxPeriod: 30 }],
    [{ version: '6' }, { minPeriod: 30, maxPeriod: 30 }],
    [
      { minPeriod: 30, maxPeriod: 60 },
      { minPeriod: 1, maxPeriod: 60 },
    ],
    [{ minPeriod: 30 }, {}],
    [{ maxPeriod: 30 }, { minPeriod: 30 }],
  ])('of the rule %j precedes that of %j, whichever was added last', (winner, loser) => {
    for (const [winnerId, loserId] of [
      [1, 2],
      [2, 1],
    ]) {
      const rules = [
        rule({ ...loser, id: loserId ?? 0, markupPercent: '5' }),
        rule({ ...winner, id: winnerId ?? 0, markupPercent: '3' }),
      ];
      expect(choose(rules, offer({ country: 'ru' })).ruleId).toBe(winnerId);
    }
  });

  it('is that of the newest rule when two have the same scope', () => {
    const [first, second] = [rule(), rule()];
    expect(choose([first, second]).ruleId).toBe(second.id);
    expect(choose([second, first]).ruleId).toBe(second.id);
  });

  it('holds from the beginning of its rule until right before the end', () => {
    const promotion = rule({ validFrom: new Date(NOW_MS), validTo: new Date(NOW_MS + 1000) });
    const usual = rule({ id: promotion.id - 1 });
    const at = (ms: number) => choose([usual, promotion], offer(), NOW_MS + ms).ruleId;
    expect([-1, 0, 999, 1000].map(at)).toEqual([usual.id, promotion.id, promotion.id, usual.id]);
  });

  it('never holds when its rule ends as it begins', () => {
    expect(choose([rule({ validFrom: new Date(NOW_MS), validTo: new Date(NOW_MS) })]).ruleId).toBeNull();
  });

  it('of a rule for a country counts only if it is below that of the quote', () => {
    const moreExpensive = rule({ country: 'ru', markupPercent: '20.0001' });
    const equal = rule({ country: 'us', markupPercent: '20.0000' });
    const cheaper = rule({ country: 'de', markupPercent: '19.9999' });
    const inCountry = (country: string | null) =>
      choose([moreExpensive, equal, cheaper], offer({ country })).ruleId;
    expect(['ru', 'us', 'de', null].map(inCountry)).toEqual([null, null, cheaper.id, null]);
  });
});
