export { AgentsModule } from './agents.module';
export { serveNoOAuth } from './no-oauth';
