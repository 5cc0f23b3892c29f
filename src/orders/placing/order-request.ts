import type { Caller } from '../../auth';
import { toIpVersion } from '../../catalog';
import type { IpVersion, Money } from '../../common';
import { type Idempotency, readIdempotency } from '../order-keys';
import type { ProlongRequest, PurchaseRequest } from './dto/orders.dto';

interface AnyRequest {
  readonly caller: Caller;
  readonly idempotency: Idempotency | null;
  /** Rental period, in days. */
  readonly period: number;
  readonly maxPrice: Money | null;
}

interface RequestedPurchase extends AnyRequest {
  readonly kind: 'purchase';
  readonly country: string;
  readonly version: IpVersion;
  readonly count: number;
  /** Any text: a later check refuses unsupported types. */
  readonly proxyType: string;
  readonly allowPartial: boolean;
  /** The label of the delivered proxies, normalised. */
  readonly label: string | null;
}

interface RequestedProlongation extends AnyRequest {
  readonly kind: 'prolongation';
  /** Any text: a later check looks up the proxy. */
  readonly proxyId: string;
}

/** An order as its caller requests it, before any check. */
export type OrderRequest = RequestedPurchase | RequestedProlongation;

/** Reads the request for a purchase. @throws IdempotencyKeyInvalid */
export function readPurchase(
  caller: Caller,
  body: PurchaseRequest,
  key: string | undefined,
  label: string | null = null,
): OrderRequest {
  const { count, period, proxy_type: proxyType, max_price: maxPrice, allow_partial: allowPartial } = body;
  const version = toIpVersion(body.version);
  // The key's request omits guards and the label: with other values it is still the same order.
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

/** Reads the request for a prolongation. @throws IdempotencyKeyInvalid */
export function readProlongation(
  caller: Caller,
  proxyId: string,
  { period, max_price: maxPrice }: ProlongRequest,
  key: string | undefined,
): OrderRequest {
  const item = { kind: 'prolongation', proxyId, period } as const;
  return { caller, idempotency: readIdempotency(key, item), maxPrice, ...item };
}
