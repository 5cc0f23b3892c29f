import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccessRecheck, type CustomerScope, isStaffScope, Public } from '../auth';
import { DomainError, Money, plainAddress } from '../common';
import { AppConfig } from '../config';
import { receivedBytes, RequestLimits, UnparsedBody } from '../http';
import { ORDERING_SCOPES, READING_SCOPES, EXPORT_SCOPES } from './agent-scopes';
import {
  type AuthorizationRequest,
  AuthorizationRequests,
  type Destination,
  PageError,
} from './authorization-request';
import { consentPage, CONSENT_DAYS, messagePage, sendPage } from './consent-page';
import { type Consent, OAuthGrants } from './grants.service';
import { OAuthError, readParameters } from './oauth-error';
import { issuerOf } from './urls';

const MAX_BODY_BYTES = 4096;

/** Needs no session or cookie: the page's URL contains the request, and its form contains the choices. */
@ApiExcludeController()
@Controller('authorize')
export class AuthorizeController {
  constructor(
    private readonly requests: AuthorizationRequests,
    private readonly grants: OAuthGrants,
    private readonly access: AccessRecheck,
    private readonly limits: RequestLimits,
    private readonly config: AppConfig,
  ) {}

  @Get()
  @Public()
  async show(@Req() request: Request, @Res() response: Response): Promise<void> {
    this.limits.admitPage(plainAddress(request.ip));
    await this.serve(request, response, (read) => {
      sendPage(response, 200, consentPage(read), read.redirectUri);
    });
  }

  @Post()
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  async decide(@Req() request: Request, @Res() response: Response): Promise<void> {
    // A form on another site could submit an attacker's token and bind the agent to the attacker's account.
    const site = request.get('sec-fetch-site') ?? 'same-origin';
    if (site !== 'same-origin') {
      sendPage(
        response,
        403,
        messagePage('Another site sent this form. Return to the agent and connect again.'),
      );
      return;
    }
    await this.serve(request, response, async (read) => {
      try {
        const consent = await this.readConsent(read, request, response);
        this.redirect(response, read, { code: await this.grants.createCode(read, consent) });
      } catch (error) {
        if (!(error instanceof PageError)) throw error;
        sendPage(response, error.status, consentPage(read, error.message), read.redirectUri);
      }
    });
  }

  /** Sends errors to the client only if its redirect URI has been checked. */
  private async serve(
    request: Request,
    response: Response,
    respond: (read: AuthorizationRequest) => Promise<void> | void,
  ): Promise<void> {
    let destination: Destination | undefined;
    try {
      const parameters = readParameters(request.url.split('?')[1] ?? '');
      destination = await this.requests.destinationOf(parameters);
      await respond(this.requests.read(destination, parameters));
    } catch (error) {
      if (error instanceof OAuthError && destination) {
        this.redirect(response, destination, { error: error.code, error_description: error.message });
      } else if (error instanceof OAuthError || error instanceof PageError) {
        sendPage(response, 400, messagePage(error.message));
      } else {
        throw error;
      }
    }
  }

  /** `iss` names this server, so that clients can detect mix-up attacks (RFC 9207). */
  private redirect(
    response: Response,
    { redirectUri, state }: Destination,
    parameters: Record<string, string>,
  ): void {
    const given = { ...parameters, ...(state !== undefined && { state }), iss: issuerOf(this.config) };
    const query = new URLSearchParams(given).toString();
    // Keep the redirect URI exactly as registered.
    const url = `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${query}`;
    response.status(303).set({ Location: url, 'Cache-Control': 'no-store' }).end();
  }

  /** @throws OAuthError if the customer refuses, and PageError if the form contains a mistake */
  private async readConsent(
    { scopes: requested }: AuthorizationRequest,
    request: Request,
    response: Response,
  ): Promise<Consent> {
    const form = readParameters(receivedBytes(request).toString());
    if (form.get('decision') !== 'allow') throw new OAuthError('access_denied', 'the customer denied access');
    const issuer = await this.access
      .findAllowed((form.get('token') ?? '').trim(), request, null)
      .catch((error) => {
        if (!(error instanceof DomainError) || error.kind === 'unavailable') throw error;
        throw new PageError(`The token was rejected: ${error.detail}.`, 401);
      });
    this.limits.admit(issuer, response);
    if (issuer.origin === 'oauth' || issuer.scopes.some(isStaffScope)) {
      throw new PageError("Use a customer's token that was not issued to an agent.", 403);
    }
    const buys = form.get('access') === 'buy';
    const wanted: readonly CustomerScope[] = [
      ...READING_SCOPES,
      ...(buys ? ORDERING_SCOPES : []),
      ...(form.get('passwords') === 'yes' ? EXPORT_SCOPES : []),
    ];
    const scopes = wanted.filter((scope) => requested.includes(scope) && issuer.scopes.includes(scope));
    for (const scope of ['proxies:write', 'proxies:export'] as const) {
      if (wanted.includes(scope) && !scopes.includes(scope)) {
        throw new PageError(
          `You allowed ${scope}, but the token lacks this scope, or the agent did not request it.`,
          403,
        );
      }
    }
    if (scopes.length === 0) throw new PageError('The token has no scope that an agent can use.', 403);
    const days = Number(form.get('days'));
    if (!CONSENT_DAYS.includes(days)) throw new PageError('Choose how long the agent should have access.');
    return { issuer, scopes, days, dailyLimit: buys ? readLimit(form.get('daily_limit') ?? '') : null };
  }
}

/** @throws PageError unless the text is a positive number of roubles */
function readLimit(text: string): Money {
  const amount = /^\d{1,9}([.,]\d{1,2})?$/.test(text.trim())
    ? Money.parse(text.trim().replace(',', '.'))
    : null;
  if (!amount?.isPositive()) {
    throw new PageError('Enter how many roubles the agent may spend per day, e.g. 500.');
  }
  return amount;
}
