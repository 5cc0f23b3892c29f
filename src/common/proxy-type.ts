export const PROXY_TYPES = ['http', 'socks'] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];

/** Maximum number of proxies in an order. The provider must be able to sell that many in one call. */
export const MAX_ORDER_SIZE = 1000;
