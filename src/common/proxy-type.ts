export const PROXY_TYPES = ['http', 'socks'] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];

/** The provider must sell that many proxies in one call. */
export const MAX_ORDER_SIZE = 1000;
