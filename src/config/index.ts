export { AppConfig, type ProviderAddress, resolveConfig } from './app-config';
export { type Environment, EnvironmentError, readEnvironment } from './environment';
export { readApiKeyFile } from './secret-files';
