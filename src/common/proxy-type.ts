/** The protocols that a customer can rent a proxy for. */
export const PROXY_TYPES = ['http', 'socks'] as const;
export type ProxyType = (typeof PROXY_TYPES)[number];
