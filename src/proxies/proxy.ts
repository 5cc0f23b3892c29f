import { selectList } from '../database';

/** Fields of a proxy for its customer. */
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
  /**
   * Time when the proxy was found withdrawn, regardless of its end. It becomes null if the proxy is listed
   * again.
   */
  readonly withdrawnAt: Date | null;
  /**
   * Customer's own label, which is never sent to the provider. It is `descr` in responses.
   */
  readonly label: string | null;
}

/** Proxy that a user has rented. */
export interface Proxy extends ProxyFields {
  readonly userId: number;
  /** Purchase that delivered the proxy. */
  readonly orderId: number;
  /** Time when the proxy was refunded because it did not work. Such a proxy is withdrawn for good. */
  readonly refundedAt: Date | null;
  /** Customer's own tags, as `normalTags()` returns them. */
  readonly tags: readonly string[];
}

const FIELDS =
  'id host port login password proxyType country version dateStart dateEnd withdrawnAt label ' +
  'userId orderId refundedAt tags';

/** SQL columns of a {@link Proxy} in the table `proxies`. */
export const PROXY_COLUMNS = selectList(FIELDS.split(' '));
