import { InvalidArgumentError } from 'commander';
import { ALL_SCOPES, ALL_STAFF_SCOPES, isNetwork, isScope, type Scope, USUAL_SCOPES } from '../auth';
import { Money } from '../common';
import { SALES_DIMENSIONS, type SalesDimension } from '../ledger';
import { type AuditTarget, parseTarget as toTarget } from '../staff';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** Reads a positive whole number that is exact in JSON. */
export function parseId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new InvalidArgumentError('must be a positive whole number.');
  return id;
}

/**
 * Reads names of scopes. `all` stands for every scope of customers but `tokens:write`, which has to be named,
 * `staff` for every scope of staff.
 */
export function parseScopes(text: string): Scope[] {
  const scopes = text.split(',').flatMap((part): Scope[] => {
    const name = part.trim();
    if (name === 'all') return USUAL_SCOPES;
    if (name === 'staff') return ALL_STAFF_SCOPES;
    if (isScope(name)) return [name];
    const known = ['all', ...ALL_SCOPES, 'staff', ...ALL_STAFF_SCOPES];
    throw new InvalidArgumentError(`known scopes: ${known.join(', ')}.`);
  });
  return [...new Set(scopes)];
}

/** Reads addresses and networks in CIDR notation, separated by commas. */
export function parseNetworks(text: string): string[] {
  const networks = text.split(',').map((network) => network.trim());
  if (!networks.every(isNetwork)) {
    throw new InvalidArgumentError('must be networks in CIDR notation, e.g. 203.0.113.0/24,2001:db8::/32.');
  }
  return networks;
}

/** Reads `90m`, `12h` or `30d` as milliseconds. */
export function parseDurationMs(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (!amount || !unit) {
    throw new InvalidArgumentError('must be a number of minutes, hours or days, e.g. 90m, 12h, 30d.');
  }
  return Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** Reads roubles with at most two decimals. */
export function parseAmount(text: string): Money {
  try {
    return Money.parse(text);
  } catch {
    throw new InvalidArgumentError('must be an amount in roubles, e.g. 500.00.');
  }
}

/** Reads ISO 8601 with an offset, so that it means the same everywhere. */
export function parseMoment(text: string): Date {
  const isComplete = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const moment = new Date(isComplete ? text : Number.NaN);
  if (Number.isNaN(moment.getTime())) {
    throw new InvalidArgumentError('must be a moment with its offset, e.g. 2027-01-31T09:00:00Z.');
  }
  return moment;
}

/** Reads roubles above 0 that the database can keep. */
export function parseAmountAboveZero(text: string): Money {
  const amount = parseAmount(text);
  if (!amount.isPositive() || amount.kopecks >= 10n ** 14n) {
    throw new InvalidArgumentError('must be an amount in roubles above 0, e.g. 500.00.');
  }
  return amount;
}

export function parseText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 500) throw new InvalidArgumentError('must be 1 to 500 characters.');
  return trimmed;
}

/** Reads a day that exists in the calendar. */
export function parseDay(text: string): string {
  const isDay =
    /^[1-9]\d{3}-\d\d-\d\d$/.test(text) && new Date(`${text}T00:00:00Z`).toJSON()?.startsWith(text);
  if (!isDay) throw new InvalidArgumentError('must be a day, e.g. 2026-11-21.');
  return text;
}

/** Reads what sales are summed up by. */
export function parseDimensions(text: string): SalesDimension[] {
  const names = text.split(',').map((name) => name.trim());
  const known = SALES_DIMENSIONS.filter((dimension) => names.includes(dimension));
  if (known.length < new Set(names).size) {
    throw new InvalidArgumentError(`must be any of ${SALES_DIMENSIONS.join(', ')}, separated by commas.`);
  }
  return known;
}

/** Reads `user:42`. */
export function parseTarget(text: string): AuditTarget {
  const target = toTarget(text);
  if (!target) throw new InvalidArgumentError('must be a target of the audit log, e.g. user:42, order:815.');
  return target;
}
