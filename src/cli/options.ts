import { InvalidArgumentError } from 'commander';
import {
  ALL_SCOPES,
  ALL_STAFF_SCOPES,
  expandGroups,
  isScope,
  READ_GROUP,
  type Scope,
  USUAL_SCOPES,
} from '../auth';

const UNIT_MS = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

export function parseId(text: string): number {
  const id = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw new InvalidArgumentError('must be a positive whole number.');
  return id;
}

/** `all` omits scopes that must be named explicitly, such as `tokens:write`. */
export function parseScopes(text: string): Scope[] {
  const scopes = text.split(',').flatMap((part): (Scope | typeof READ_GROUP)[] => {
    const name = part.trim();
    if (name === 'all') return USUAL_SCOPES;
    if (name === 'staff') return ALL_STAFF_SCOPES;
    if (name === READ_GROUP || isScope(name)) return [name];
    const known = ['all', READ_GROUP, ...ALL_SCOPES, 'staff', ...ALL_STAFF_SCOPES];
    throw new InvalidArgumentError(`known scopes: ${known.join(', ')}.`);
  });
  return expandGroups(scopes);
}

export function parseDurationMs(text: string): number {
  const [, amount, unit] = /^([1-9]\d{0,4})([mhd])$/.exec(text) ?? [];
  if (!amount || !unit) {
    throw new InvalidArgumentError('must be a number of minutes, hours or days, e.g. 90m, 12h, 30d.');
  }
  return Number(amount) * UNIT_MS[unit as keyof typeof UNIT_MS];
}

export function parseSwitch(text: string, yes: string, no: string): boolean {
  if (text !== yes && text !== no) throw new InvalidArgumentError(`Allowed choices are ${yes}, ${no}.`);
  return text === yes;
}

export function parseText(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '' || trimmed.length > 500) throw new InvalidArgumentError('must be 1 to 500 characters.');
  return trimmed;
}
