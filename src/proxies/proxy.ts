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
  /** Set when the proxy is found to be withdrawn; null again once the provider lists it. */
  readonly withdrawnAt: Date | null;
  /** `descr` in responses. Never sent to the provider. */
  readonly label: string | null;
}

export interface Proxy extends ProxyFields {
  readonly userId: number;
  /** Purchase that delivered the proxy. */
  readonly orderId: number;
  readonly refundedAt: Date | null;
  /** As `normalTags()` returns them. */
  readonly tags: readonly string[];
}

const FIELDS =
  'id host port login password proxyType country version dateStart dateEnd withdrawnAt label ' +
  'userId orderId refundedAt tags';

export const PROXY_COLUMNS = selectList(FIELDS.split(' '));
