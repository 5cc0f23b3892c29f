import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { Application, Request, Response } from 'express';
import { InvalidToken, NotAuthenticated } from '../auth';
import type { DomainError } from '../common';
import { AppConfig } from '../config';
import { challengeParameters } from '../oauth';

const DESCRIPTION = 'Send a token issued by this shop in the header Authorization: Bearer prx_...';

/** Paths that clients request after a 401, to find out whether the service has OAuth. */
const PATHS = ['/register', '/authorize', '/token', '/.well-known/oauth-*path'];

/** Responds with an OAuth error, because clients show its description to the user. */
export function serveNoOAuth(app: NestExpressApplication): void {
  const express = app.getHttpAdapter().getInstance() as Application;
  const description = `This service does not support OAuth. ${DESCRIPTION}`;
  for (const path of PATHS) {
    express.all(path, (_: Request, response: Response) => {
      response.status(404).json({ error: 'invalid_request', error_description: description });
    });
  }
}

/** Extends `WWW-Authenticate` on this route only: other routes' API contract must not change. */
@Catch(NotAuthenticated, InvalidToken)
export class WrongTokenFilter implements ExceptionFilter<DomainError> {
  constructor(private readonly config: AppConfig) {}

  catch({ detail, code }: DomainError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    const challenge = [`Bearer error="invalid_token"`, `error_description="${DESCRIPTION}"`];
    const oauth = challengeParameters(this.config);
    if (oauth !== null) challenge.push(oauth);
    response.status(401).set('WWW-Authenticate', challenge.join(', ')).json({ detail, code });
  }
}
