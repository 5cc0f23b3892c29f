import { Injectable } from '@nestjs/common';
import type { CustomerScope } from '../auth';
import { AppConfig } from '../config';
import { grantableScopes } from './agent-scopes';
import { OAuthClients, type OAuthClient } from './clients.service';
import { OAuthError, type RequestParameters } from './oauth-error';
import { isRegistered } from './redirect-uri';
import { resourceOf } from './urls';

/** `redirectUri` is one that the client registered. */
export interface Destination {
  readonly client: OAuthClient;
  readonly redirectUri: string;
  readonly state: string | undefined;
}

export interface AuthorizationRequest extends Destination {
  readonly challenge: string;
  /** Defaults to all scopes that an agent can have. */
  readonly scopes: readonly CustomerScope[];
}

/** An error that is shown to the customer and not sent to the client, which may not be trustworthy. */
export class PageError extends Error {
  constructor(
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

@Injectable()
export class AuthorizationRequests {
  constructor(
    private readonly clients: OAuthClients,
    private readonly config: AppConfig,
  ) {}

  /** Nothing may be sent to a redirect URI before this check. @throws PageError */
  async destinationOf(parameters: RequestParameters): Promise<Destination> {
    const client = await this.clients.find(parameters.get('client_id') ?? '');
    if (!client) {
      throw new PageError('This agent is not registered here. Return to the agent and connect again.');
    }
    const redirectUri = parameters.get('redirect_uri') ?? '';
    if (!isRegistered(client.redirectUris, redirectUri)) {
      throw new PageError('The agent requested a redirect to an address that it has not registered.');
    }
    return { client, redirectUri, state: parameters.get('state') };
  }

  /** Reads all parameters except the destination. @throws OAuthError */
  read(destination: Destination, parameters: RequestParameters): AuthorizationRequest {
    if (parameters.get('response_type') !== 'code') {
      throw new OAuthError('unsupported_response_type', 'response_type must be code');
    }
    const challenge = parameters.get('code_challenge') ?? '';
    if (parameters.get('code_challenge_method') !== 'S256' || !/^[\w-]{43}$/.test(challenge)) {
      throw new OAuthError(
        'invalid_request',
        'code_challenge must be given, with code_challenge_method S256',
      );
    }
    assertResource(parameters, this.config);
    return { ...destination, challenge, scopes: this.scopesOf(parameters.get('scope')) };
  }

  private scopesOf(text: string | undefined): CustomerScope[] {
    const grantable = grantableScopes(this.config);
    if (text === undefined || text === '') return grantable;
    const requested = new Set(text.split(' '));
    const scopes = grantable.filter((scope) => requested.has(scope));
    if (scopes.length === 0) throw new OAuthError('invalid_scope', 'no requested scope can be granted');
    return scopes;
  }
}

/** Checks the resource, if a request names one (RFC 8707). @throws OAuthError */
export function assertResource(parameters: RequestParameters, config: AppConfig): void {
  if ((parameters.get('resource') ?? resourceOf(config)) !== resourceOf(config)) {
    throw new OAuthError('invalid_target', 'resource must be the URL of this MCP server');
  }
}
