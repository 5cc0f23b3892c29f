export { AppConfig, type PaymentsAddress, type ProviderAddress, resolveConfig } from './app-config';
export { type Environment, EnvironmentError, readEnvironment } from './environment';
export type { CashRegister } from './settings';
export { readApiKeyFile } from './secret-files';
export { type Tuning, TUNING_VARIABLE } from './tuning';
export { type PaymentSource, readPaymentSources } from './payment-sources';
