import type { Caller } from '../../auth';
import { toIpVersion } from '../../catalog';
import type { IpVersion, Money } from '../../common';
import { type Idempotency, readIdempotency } from '../order-keys';
import type { ProlongRequest, PurchaseRequest } from './dto/orders.dto';

interface AnyRequest {
  readonly caller: Caller;
  readonly idempotency: Idempotency | null;
  readonly period: number;
  readonly maxPrice: Money | null;
}

interface RequestedPurchase extends AnyRequest {
  readonly kind: 'purchase';
  readonly country: string;
  readonly version: IpVersion;
  readonly count: number;
  /** Any string. A later check refuses unsupported types. */
  readonly proxyType: string;
  readonly allowPartial: boolean;
  /** Normalised. */
  readonly label: string | null;
}

interface RequestedProlongation extends AnyRequest {
  readonly kind: 'prolongation';
  readonly proxyId: string;
}

export type OrderRequest = RequestedPurchase | RequestedProlongation;

/** @throws IdempotencyKeyInvalid */
export function readPurchase(
  caller: Caller,
  body: PurchaseRequest,
  key: string | undefined,
  label: string | null = null,
): OrderRequest {
  const { count, period, proxy_type: proxyType, max_price: maxPrice, allow_partial: allowPartial } = body;
  const version = toIpVersion(body.version);
  // A retry may change the price limit, `allow_partial` and the label, so the hash does not cover them.
  const item = {
    kind: 'purchase',
    country: body.country.toLowerCase(),
    version,
    period,
    count,
    proxyType,
  } as const;
  return { caller, idempotency: readIdempotency(key, item), maxPrice, allowPartial, label, ...item };
}

/** @throws IdempotencyKeyInvalid */
export function readProlongation(
  caller: Caller,
  proxyId: string,
  { period, max_price: maxPrice }: ProlongRequest,
  key: string | undefined,
): OrderRequest {
  const item = { kind: 'prolongation', proxyId, period } as const;
  return { caller, idempotency: readIdempotency(key, item), maxPrice, ...item };
}
