export { OAuthModule } from './oauth.module';
export { OAUTH_DATA } from './personal-data';
export { challengeParameters } from './urls';
