import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';

/** An error as defined by RFC 6749, 7591 or 8707. */
export class OAuthError extends Error {
  /** @param message for the client's developer, in printable ASCII without quotes and backslashes */
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
    this.name = OAuthError.name;
  }
}

@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter<OAuthError> {
  catch({ code, message }: OAuthError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    response
      .status(code === 'invalid_client' ? 401 : 400)
      .set('Cache-Control', 'no-store')
      .json({ error: code, error_description: message });
  }
}

export type RequestParameters = ReadonlyMap<string, string>;

/** @throws OAuthError if a parameter occurs twice, because other programs might read the other value */
export function readParameters(text: string): RequestParameters {
  const given = [...new URLSearchParams(text)];
  const parameters = new Map(given);
  if (parameters.size < given.length) {
    throw new OAuthError('invalid_request', 'a parameter is included more than once');
  }
  return parameters;
}
