import { Controller, Get, Post, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request, Response } from 'express';
import { AccessRecheck, type CustomerScope, isStaffScope, Public } from '../auth';
import { DomainError, Money, plainAddress } from '../common';
import { receivedBytes, RequestLimits, UnparsedBody } from '../http';
import { BUY, LOOK, PASSWORDS } from './agent-scopes';
import {
  type AuthorizationRequest,
  AuthorizationRequests,
  type Destination,
  NoDestination,
} from './authorization-request';
import { consentPage, DAYS, messagePage, sendPage } from './consent-page';
import { type Consent, OAuthGrants } from './grants.service';
import { OAuthError, readParameters, type RequestParameters } from './oauth-error';

const MAX_BODY_BYTES = 32 * 1024;

/** A mistake that the customer made in the form. */
class Mistake extends Error {
  constructor(
    message: string,
    readonly status = 400,
  ) {
    super(message);
  }
}

/** Serves the page on which a customer allows a client to use `/mcp`, without a session or cookie. */
@ApiExcludeController()
@Controller('authorize')
export class AuthorizeController {
  constructor(
    private readonly requests: AuthorizationRequests,
    private readonly grants: OAuthGrants,
    private readonly access: AccessRecheck,
    private readonly limits: RequestLimits,
  ) {}

  @Get()
  @Public()
  async show(@Req() request: Request, @Res() response: Response): Promise<void> {
    this.limits.admitPage(plainAddress(request.ip));
    const query = request.url.split('?')[1] ?? '';
    await this.serve(query, response, (read, parameters) => {
      sendPage(response, 200, consentPage(read, parameters), read.redirectUri);
    });
  }

  @Post()
  @Public({ maxBodyBytes: MAX_BODY_BYTES })
  @UnparsedBody()
  async decide(@Req() request: Request, @Res() response: Response): Promise<void> {
    // The customer pastes a token each time, so another site's form could only contain that site's own token.
    // Reject even that: the customer would then unknowingly use somebody else's account.
    const site = request.get('sec-fetch-site') ?? 'same-origin';
    if (site !== 'same-origin') {
      sendPage(response, 403, messagePage('Another site sent this form. Start again in the agent.'));
      return;
    }
    await this.serve(receivedBytes(request).toString(), response, async (read, parameters) => {
      if (parameters.get('decision') !== 'allow') {
        throw new OAuthError('access_denied', 'the customer refused');
      }
      try {
        const consent = await this.readConsent(read, parameters, request);
        this.limits.admit(consent.issuer, response);
        this.redirect(response, read, parameters, { code: await this.grants.createCode(read, consent) });
      } catch (error) {
        if (!(error instanceof Mistake)) throw error;
        sendPage(response, error.status, consentPage(read, parameters, error.message), read.redirectUri);
      }
    });
  }

  /** Reads a request and responds to it. Sends errors to the client only if its redirect URI was checked. */
  private async serve(
    text: string,
    response: Response,
    respond: (request: AuthorizationRequest, parameters: RequestParameters) => Promise<void> | void,
  ): Promise<void> {
    let destination: Destination | undefined;
    let parameters: RequestParameters = new Map();
    try {
      parameters = readParameters(text);
      destination = await this.requests.destinationOf(parameters);
      await respond(this.requests.read(destination, parameters), parameters);
    } catch (error) {
      if (error instanceof OAuthError && destination) {
        const { code, description } = error;
        this.redirect(response, destination, parameters, { error: code, error_description: description });
      } else if (error instanceof OAuthError || error instanceof NoDestination) {
        sendPage(response, 400, messagePage(error.message));
      } else {
        throw error;
      }
    }
  }

  private redirect(
    response: Response,
    destination: Destination,
    parameters: RequestParameters,
    given: Record<string, string>,
  ): void {
    const url = this.requests.responseUrl(destination, parameters, given);
    response.status(303).set({ Location: url, 'Cache-Control': 'no-store' }).end();
  }

  /** @throws Mistake */
  private async readConsent(
    { scopes: requested }: AuthorizationRequest,
    form: RequestParameters,
    request: Request,
  ): Promise<Consent> {
    const issuer = await this.access
      .findAllowed((form.get('token') ?? '').trim(), request, null)
      .catch((error) => {
        if (!(error instanceof DomainError) || error.kind === 'unavailable') throw error;
        throw new Mistake(`The token does not work: ${error.detail}.`, 401);
      });
    if (issuer.origin === 'oauth' || issuer.scopes.some(isStaffScope)) {
      throw new Mistake('Use a token of a customer, which is not that of an agent.', 403);
    }
    const buys = form.get('access') === 'buy';
    const wanted: readonly CustomerScope[] = [
      ...LOOK,
      ...(buys ? BUY : []),
      ...(form.get('passwords') === 'yes' ? PASSWORDS : []),
    ];
    const scopes = wanted.filter((scope) => requested.includes(scope) && issuer.scopes.includes(scope));
    for (const scope of ['proxies:write', 'proxies:export'] as const) {
      if (wanted.includes(scope) && !scopes.includes(scope)) {
        throw new Mistake(`The token or the agent lacks what you allowed: ${scope}.`, 403);
      }
    }
    if (scopes.length === 0) throw new Mistake('The token allows nothing that an agent could do.', 403);
    const days = Number(form.get('days'));
    if (!DAYS.includes(days)) throw new Mistake('Choose for how long.');
    return { issuer, scopes, days, dailyLimit: buys ? readLimit(form.get('daily_limit') ?? '') : null };
  }
}

/** Reads the daily limit in roubles, which is required if the agent may buy. @throws Mistake */
function readLimit(text: string): Money {
  const amount = /^\d{1,9}([.,]\d{1,2})?$/.test(text.trim())
    ? Money.parse(text.trim().replace(',', '.'))
    : null;
  if (!amount?.isPositive()) throw new Mistake('Say for how many roubles a day it may buy, e.g. 500.');
  return amount;
}
