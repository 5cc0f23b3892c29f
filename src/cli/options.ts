import { InvalidArgumentError } from 'commander';
import { ALL_SCOPES, isScope, type Scope } from '../auth';
import { Money } from '../common';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** A positive whole number that is exact in JSON. */
export function parseId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new InvalidArgumentError('must be a positive whole number.');
  return id;
}

export function parseScopes(text: string): Scope[] {
  if (text === 'all') return ALL_SCOPES;
  const names = text.split(',').map((name) => name.trim());
  const scopes = names.filter(isScope);
  if (scopes.length < names.length)
    throw new InvalidArgumentError(`known scopes: all, ${ALL_SCOPES.join(', ')}.`);
  return [...new Set(scopes)];
}

/** `90m`, `12h` or `30d`, in milliseconds. */
export function parseDurationMs(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (!amount || !unit)
    throw new InvalidArgumentError('must be a number of minutes, hours or days, e.g. 90m, 12h, 30d.');
  return Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

/** Roubles with at most two decimals. */
export function parseAmount(text: string): Money {
  try {
    return Money.parse(text);
  } catch {
    throw new InvalidArgumentError('must be an amount in roubles, e.g. 500.00.');
  }
}

/** ISO 8601 with its offset, so that it means the same everywhere. */
export function parseMoment(text: string): Date {
  const isComplete = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,3})?)?(Z|[+-]\d\d:\d\d)$/.test(text);
  const moment = new Date(isComplete ? text : Number.NaN);
  if (Number.isNaN(moment.getTime()))
    throw new InvalidArgumentError('must be a moment with its offset, e.g. 2027-01-31T09:00:00Z.');
  return moment;
}

export function parseText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 500) throw new InvalidArgumentError('must be 1 to 500 characters.');
  return trimmed;
}
