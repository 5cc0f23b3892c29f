export { provideDemo, tour } from './demo-user';
export { acquireLocalSandbox, type LocalSandbox } from './local-sandbox';
export { acquireEmbeddedPostgres, type EmbeddedPostgres } from './postgres/embedded-postgres';
export { acquireResources, type Resources } from './resources';
