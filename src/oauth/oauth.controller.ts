import { Controller, Get, Header, HttpCode, Post, Req, UseFilters } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../auth';
import { jsonOrUndefined, plainAddress, SERVICE_NAME } from '../common';
import { AppConfig } from '../config';
import { receivedBytes, RequestLimits, UnparsedBody } from '../http';
import { grantableScopes } from './agent-scopes';
import { assertResource } from './authorization-request';
import { OAuthClients } from './clients.service';
import { OAuthGrants } from './grants.service';
import { OAuthError, OAuthErrorFilter, readParameters, type RequestParameters } from './oauth-error';
import { issuerOf, RESOURCE_METADATA, resourceOf } from './urls';

const MAX_BODY_BYTES = 16 * 1024;

const GRANT_TYPES = ['authorization_code', 'refresh_token'];
const RESPONSE_TYPES = ['code'];
/** Clients have no secrets. They use PKCE and rotating refresh tokens instead. */
const CLIENT_AUTHENTICATION = 'none';

@ApiExcludeController()
@Controller()
@UseFilters(OAuthErrorFilter)
export class OAuthController {
  constructor(
    private readonly clients: OAuthClients,
    private readonly grants: OAuthGrants,
    private readonly limits: RequestLimits,
    private readonly config: AppConfig,
  ) {}

  /** Returns the metadata of the protected resource (RFC 9728). */
  @Get([RESOURCE_METADATA, `${RESOURCE_METADATA}/mcp`])
  @Public()
  describeResource(): object {
    return {
      resource: resourceOf(this.config),
      resource_name: SERVICE_NAME,
      authorization_servers: [issuerOf(this.config)],
      scopes_supported: grantableScopes(this.config),
      bearer_methods_supported: ['header'],
    };
  }

  /** Returns the metadata of the authorization server (RFC 8414). */
  @Get('.well-known/oauth-authorization-server')
  @Public()
  describeServer(): object {
    const issuer = issuerOf(this.config);
    return {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      revocation_endpoint: `${issuer}/revoke`,
      scopes_supported: grantableScopes(this.config),
      response_types_supported: RESPONSE_TYPES,
      response_modes_supported: ['query'],
      grant_types_supported: GRANT_TYPES,
      token_endpoint_auth_methods_supported: [CLIENT_AUTHENTICATION],
      revocation_endpoint_auth_methods_supported: [CLIENT_AUTHENTICATION],
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
    };
  }

  @Post('register')
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  @Header('Cache-Control', 'no-store')
  async register(@Req() request: Request): Promise<object> {
    this.limits.admitRegistration(plainAddress(request.ip));
    const { client, createdAt } = await this.clients.register(
      jsonOrUndefined(receivedBytes(request).toString()),
    );
    return {
      client_id: client.id,
      client_id_issued_at: Math.floor(createdAt.getTime() / 1000),
      client_name: client.name,
      redirect_uris: client.redirectUris,
      grant_types: GRANT_TYPES,
      response_types: RESPONSE_TYPES,
      token_endpoint_auth_method: CLIENT_AUTHENTICATION,
    };
  }

  @Post('token')
  @HttpCode(200)
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  @Header('Cache-Control', 'no-store')
  issueTokens(@Req() request: Request): Promise<object> {
    const form = readForm(request);
    assertResource(form, this.config);
    const clientId = required(form, 'client_id');
    const grantType = required(form, 'grant_type');
    if (grantType === 'refresh_token') return this.grants.refresh(required(form, 'refresh_token'), clientId);
    if (grantType !== 'authorization_code') {
      throw new OAuthError(
        'unsupported_grant_type',
        'grant_type must be authorization_code or refresh_token',
      );
    }
    const [redirectUri, verifier] = [required(form, 'redirect_uri'), required(form, 'code_verifier')];
    return this.grants.exchange(required(form, 'code'), { clientId, redirectUri, verifier });
  }

  /** Revokes a token (RFC 7009). The response does not reveal whether the token existed. */
  @Post('revoke')
  @HttpCode(200)
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  async revoke(@Req() request: Request): Promise<void> {
    const form = readForm(request);
    await this.grants.revoke(required(form, 'token'), required(form, 'client_id'));
  }
}

/** @throws OAuthError */
function readForm(request: Request): RequestParameters {
  if (request.headers.authorization !== undefined) {
    throw new OAuthError('invalid_client', 'clients have no secret: send client_id in the body');
  }
  if (!request.is('application/x-www-form-urlencoded')) {
    throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded');
  }
  return readParameters(receivedBytes(request).toString());
}

function required(form: RequestParameters, name: string): string {
  const value = form.get(name);
  if (value === undefined || value === '' || value.includes('\0')) {
    throw new OAuthError('invalid_request', `${name} is missing`);
  }
  return value;
}
