import { type ArgumentsHost, Catch, type ExceptionFilter, Logger } from '@nestjs/common';
import type { Response } from 'express';
import { DomainError, messageOf, ServiceUnavailable, stackOf } from '../common';
import { isDatabaseUnavailable } from '../database';
import { OutcomeNotKnown, WIRE_ERROR_OF, WireError, type WireErrorId } from './wire-error';

const RETRY_AFTER_SECONDS = '2';

/** Responds with an error number or 429 if it is certain that nothing was done, and otherwise with 503. */
@Catch()
export class WireErrorFilter implements ExceptionFilter<unknown> {
  private readonly logger = new Logger('Errors');

  catch(error: unknown, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    if (response.headersSent || response.closed) return;
    const id = wireErrorIdOf(error);
    if (id !== undefined) {
      response.status(200).json({ status: 'no', error_id: id, error: new WireError(id).message });
      return;
    }
    const isDone = isCertainlyNotDone(error);
    if (!isDone) this.log(error);
    const { headers = {} } = error instanceof DomainError ? error : {};
    response
      .status(isDone ? 429 : 503)
      .set({ 'Retry-After': RETRY_AFTER_SECONDS, ...headers })
      .type('text/plain')
      .send(isDone ? 'Too Many Requests' : 'Service temporarily unavailable');
  }

  private log(error: unknown): void {
    if (error instanceof DomainError || error instanceof OutcomeNotKnown) return;
    if (isDatabaseUnavailable(error)) this.logger.error(messageOf(error));
    else this.logger.error('unforeseen error', stackOf(error));
  }
}

function wireErrorIdOf(error: unknown): WireErrorId | undefined {
  if (error instanceof WireError) return error.id;
  return error instanceof DomainError ? WIRE_ERROR_OF.get(error.code) : undefined;
}

const isCertainlyNotDone = (error: unknown): boolean =>
  error instanceof ServiceUnavailable || (error instanceof DomainError && error.kind === 'rate-limited');

/** Whether something may have been bought despite this error. */
export const mayBeDone = (error: unknown): boolean =>
  wireErrorIdOf(error) === undefined && !isCertainlyNotDone(error);
