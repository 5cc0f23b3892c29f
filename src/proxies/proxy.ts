import { selectList } from '../database';

/** Proxy fields that the customer sees. */
export interface ProxyFields {
  readonly id: number;
  readonly host: string;
  readonly port: string;
  readonly login: string;
  readonly password: string;
  readonly proxyType: string;
  readonly country: string;
  readonly version: string;
  readonly dateStart: Date | null;
  readonly dateEnd: Date | null;
  /** Time when the proxy was found withdrawn; null again once it is listed. */
  readonly withdrawnAt: Date | null;
  /** Customer's own label, never sent to the provider. It is `descr` in responses. */
  readonly label: string | null;
}

export interface Proxy extends ProxyFields {
  readonly userId: number;
  /** Purchase that delivered the proxy. */
  readonly orderId: number;
  /** Time when the proxy was refunded because it did not work. The proxy stays withdrawn. */
  readonly refundedAt: Date | null;
  /** Customer's own tags, as `normalTags()` returns them. */
  readonly tags: readonly string[];
}

const FIELDS =
  'id host port login password proxyType country version dateStart dateEnd withdrawnAt label ' +
  'userId orderId refundedAt tags';

/** SQL columns of a {@link Proxy}. */
export const PROXY_COLUMNS = selectList(FIELDS.split(' '));
