import { selectList } from '../database';

/** The fields of a proxy for its customer. */
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
  /** When the proxy was found withdrawn, regardless of its end. Null again when it is listed again. */
  readonly withdrawnAt: Date | null;
  /** The customer's own label. It is never sent to the provider, where `descr` is the order reference. */
  readonly descr: string | null;
}

/** A proxy that a user has rented. */
export interface Proxy extends ProxyFields {
  readonly userId: number;
  /** The purchase that delivered it. */
  readonly orderId: number;
  /** When it was refunded because it did not work; it is withdrawn then, for good. */
  readonly refundedAt: Date | null;
  /** The customer's own tags: see `normalTags()`. */
  readonly tags: readonly string[];
}

const FIELDS =
  'id host port login password proxyType country version dateStart dateEnd withdrawnAt descr ' +
  'userId orderId refundedAt tags';

/** Selects a {@link Proxy} from the table `proxies`. */
export const PROXY_COLUMNS = selectList(FIELDS.split(' '));
