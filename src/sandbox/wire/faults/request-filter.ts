import type { WireMethodName } from '../methods/wire-methods';
import type { RequestFilter } from './fault';

export function appliesTo(
  filter: RequestFilter,
  method: WireMethodName,
  parameters: Record<string, string>,
): boolean {
  if (filter.method !== 'any' && filter.method !== method) return false;
  return Object.entries(filter.match ?? {}).every(([name, wanted]) => {
    const value = parameters[name];
    if (value === undefined) return false;
    return wanted.endsWith('*') ? value.startsWith(wanted.slice(0, -1)) : value === wanted;
  });
}
