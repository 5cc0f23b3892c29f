import type { Environment } from './environment';

/** Request URLs contain the key, so they must not be logged. */
export interface ProviderAddress {
  readonly baseUrl: string;
  readonly apiKey: string;
}

export interface PaymentsAddress {
  readonly baseUrl: string;
  readonly shopId: string;
  readonly secretKey: string;
}

/** Adds addresses that may be unknown until the embedded server and the sandbox have started. */
export type AppConfig = Environment & {
  readonly database: { readonly url: string };
  readonly provider: ProviderAddress;
};

/** Injection token for parameters of type `AppConfig`. */
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
