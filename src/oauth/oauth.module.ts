import { Module } from '@nestjs/common';
import { AuthModule } from '../auth';
import { AuthorizationRequests } from './authorization-request';
import { AuthorizeController } from './authorize.controller';
import { ClientDocuments } from './client-documents';
import { OAuthClients } from './clients.service';
import { OAuthGrants } from './grants.service';
import { OAuthController } from './oauth.controller';

/** Lets agents whose headers cannot be configured obtain tokens for `/mcp` through OAuth 2.1. */
@Module({
  imports: [AuthModule],
  controllers: [OAuthController, AuthorizeController],
  providers: [OAuthClients, ClientDocuments, AuthorizationRequests, OAuthGrants],
})
export class OAuthModule {}
