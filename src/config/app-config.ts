import type { Environment } from './environment';

/** The address of the PROXY6 API. The key must not reach a log: it is part of every URL. */
export interface ProviderAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** A shop at a provider of payments. */
export interface PaymentsAddress {
  readonly baseUrl: string;
  readonly shopId: string;
  readonly secretKey: string;
}

/**
 * The configuration of the running application: the environment, with the addresses of the database and the
 * provider (the embedded server and the sandbox get theirs when they start).
 */
export type AppConfig = Environment & {
  readonly database: { readonly url: string };
  readonly provider: ProviderAddress;
};

/** The injection token: a parameter of the type gets the configuration. */
export const AppConfig = class {};

/** Completes the environment with the addresses of the database and the provider. */
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
