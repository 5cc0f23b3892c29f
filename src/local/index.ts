export { provideDemo, tour } from './demo-user';
export { acquireEmbeddedPostgres } from './postgres/embedded-postgres';
export { acquireResources } from './resources';
