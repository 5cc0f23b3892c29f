import { seededRandom } from './seeded-random';

/** PROXY6's version numbers: 6 is IPv6, 4 is IPv4, 3 is shared IPv4, 5 is MTProto. */
export const VERSIONS = ['6', '4', '3', '5'] as const;
export type Version = (typeof VERSIONS)[number];

export function isVersion(value: unknown): value is Version {
  return VERSIONS.some((version) => version === value);
}

const COUNTRIES: Record<Version, readonly string[]> = {
  '6': 'ru ua us de nl gb fr pl fi se it es cz lv lt ee bg ro kz ca sg jp in br tr'.split(' '),
  '4': (
    'ru ua us de nl gb fr pl fi se it es cz lv lt ee bg ro kz by md ge am az uz kg at be ch dk no pt gr hu ' +
    'sk si rs hr ie il ae tr ca mx br ar cl in id th vn hk sg jp kr au za'
  ).split(' '),
  '3': 'ru ua us de nl gb fr pl kz in'.split(' '),
  '5': [],
};

/** Prices of one proxy in kopecks, by version and number of days. */
const PRICES: Record<Version, Readonly<Record<number, number>>> = {
  '6': { 3: 295, 7: 551, 14: 1041, 30: 2090, 60: 4063, 90: 5940, 180: 11500, 365: 22500 },
  '4': { 7: 2800, 14: 5600, 30: 12000, 60: 23400, 90: 34200, 180: 66000, 365: 129000 },
  '3': { 7: 1150, 14: 2240, 30: 4500, 60: 8730, 90: 12690, 180: 24300, 365: 47400 },
  // The proxy servers do not support MTProto, so it is not sold.
  '5': {},
};

const STOCK_SEED = 20_160_619;
const LEAST_STOCK = 150;
const MOST_STOCK = 9000;

export const CATALOG = {
  countriesOf(version: Version): readonly string[] {
    return COUNTRIES[version];
  },

  knows(country: string): boolean {
    return VERSIONS.some((version) => COUNTRIES[version].includes(country));
  },

  sells(version: Version, country: string): boolean {
    return COUNTRIES[version].includes(country);
  },

  pricesOf(version: Version): Map<number, number> {
    return new Map(Object.entries(PRICES[version]).map(([days, kopecks]) => [Number(days), kopecks]));
  },

  initialStockOf(version: Version): Map<string, number> {
    const random = seededRandom(STOCK_SEED + Number(version));
    return new Map(
      COUNTRIES[version].map((country) => [
        country,
        LEAST_STOCK + Math.floor(random() * (MOST_STOCK - LEAST_STOCK)),
      ]),
    );
  },
};
