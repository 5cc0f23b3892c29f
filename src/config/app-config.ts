import type { Environment } from './environment';

/**
 * What the running application is configured with: the environment, with the database and the provider resolved
 * to addresses (the embedded server and the local sandbox get theirs when they start). Frozen; also the injection token.
 */
export abstract class AppConfig implements Omit<Environment, 'databaseUrl' | 'provider'> {
  abstract readonly host: string;
  abstract readonly port: number;
  abstract readonly trustedProxies: readonly string[];
  abstract readonly databaseUrl: string;
  abstract readonly databasePoolSize: number;
  abstract readonly databasePoolWaitMs: number;
  abstract readonly dataDir: string;
  abstract readonly migrateOnStart: boolean;
  /** Where the PROXY6 interface answers. The key must not reach a log: it is part of every URL. */
  abstract readonly upstream: { readonly baseUrl: string; readonly apiKey: string };
  abstract readonly providerTimeoutMs: number;
  abstract readonly providerRatePerSecond: number;
  abstract readonly purchaseWaitMs: number;
  abstract readonly ordersPerCall: number;
  abstract readonly breakerFailures: number;
  abstract readonly breakerProbeMs: number;
  abstract readonly providerLowBalance: string;
  abstract readonly reconcileQuietSeconds: number;
  abstract readonly reconcileIntervalMs: number;
  abstract readonly sweepIntervalSeconds: number;
  abstract readonly activeFlagsIntervalSeconds: number;
  abstract readonly sandboxProfile: Environment['sandboxProfile'];
  abstract readonly markupPercent: string;
  abstract readonly pingTimeoutMs: number;
  abstract readonly logLevel: Environment['logLevel'];
  abstract readonly logFormat: Environment['logFormat'];
}
