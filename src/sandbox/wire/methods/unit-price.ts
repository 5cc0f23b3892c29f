import type { Version } from '../../catalog/catalog';
import type { ProviderState } from '../../state/provider-state';
import { WireError } from '../wire-error';

/** Kopecks for one proxy. @throws WireError for a period without a price, or a version without any */
export function unitPriceOf(state: ProviderState, version: Version, periodDays: number): number {
  const kopecks = state.findPrice(version, periodDays);
  if (kopecks === 0 || state.prices.get(version)?.size === 0) throw new WireError(410);
  if (kopecks === null) throw new WireError(210);
  return kopecks;
}
