export { provideDemo, tour } from './demo-user';
export { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres';
export { acquireResources } from './resources';
