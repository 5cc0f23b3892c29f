export { AppConfig } from './app-config';
export { EnvironmentError, readEnvironment, type Environment } from './environment';
