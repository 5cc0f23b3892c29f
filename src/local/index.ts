export { provideDemo, tour } from './demo-user';
export { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres';
export { subscribeToSandbox } from './payment-notifications';
export { acquireResources } from './resources';
