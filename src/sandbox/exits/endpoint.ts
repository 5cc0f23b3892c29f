import type { Server } from 'node:net';

/** Gives the reason why a login may not use the proxy, or null when it may. */
export type FindRefusal = (login: string, password: string) => string | null;

/**
 * What a proxy does wrong: it never answers; closes the connection instead; says that it reaches no target;
 * tells targets for whom it asks (plain requests of HTTP proxies only); or leaves by another address, which
 * Linux alone lets it do.
 */
export const EXIT_FAULTS = ['hang', 'close', 'unreachable', 'forwarded-for', 'elsewhere'] as const;
export type ExitFault = (typeof EXIT_FAULTS)[number];

/** Gives what the proxy of a login does wrong. */
export type FindFault = (login: string) => ExitFault | undefined;

/** The address by which a proxy leaves that should leave by 127.0.0.1. */
export const ELSEWHERE = '127.0.0.2';

/** A proxy server that is not listening yet. */
export interface Endpoint {
  readonly server: Server;
  /** Also closes the connections through it. */
  close(): Promise<void>;
}
