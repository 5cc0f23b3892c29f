import type { Environment } from './environment';

/** Address of the PROXY6 API. Every request URL contains the key, which must not reach a log. */
export interface ProviderAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** Base URL of the payment provider's API, and the shop's credentials there. */
export interface PaymentsAddress {
  readonly baseUrl: string;
  readonly shopId: string;
  readonly secretKey: string;
}

/**
 * Configuration of the running application: the environment, plus the addresses of the database and the
 * provider. The embedded server and the sandbox get theirs when they start.
 */
export type AppConfig = Environment & {
  readonly database: { readonly url: string };
  readonly provider: ProviderAddress;
};

/** Injection token: parameters of this type receive the configuration. */
export const AppConfig = class {};

export function resolveConfig(
  environment: Environment,
  databaseUrl: string,
  { baseUrl, apiKey }: ProviderAddress,
): AppConfig {
  return Object.freeze({
    ...environment,
    database: Object.freeze({ ...environment.database, url: databaseUrl }),
    provider: Object.freeze({ ...environment.provider, baseUrl, apiKey }),
  });
}
