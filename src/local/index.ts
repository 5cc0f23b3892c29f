export { provideDemo, demoInstructions } from './demo-user';
export { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres';
export { subscribeToSandbox } from './local-sandbox';
export { acquireResources } from './resources';
