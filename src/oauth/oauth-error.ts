import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { Response } from 'express';

type Code =
  | 'access_denied'
  | 'invalid_client'
  | 'invalid_client_metadata'
  | 'invalid_grant'
  | 'invalid_redirect_uri'
  | 'invalid_request'
  | 'invalid_scope'
  | 'invalid_target'
  | 'unsupported_grant_type'
  | 'unsupported_response_type';

/** An error as defined by RFC 6749, 7591 or 8707. */
export class OAuthError extends Error {
  /** @param description text for the client's developer, in printable ASCII without quotes and backslashes */
  constructor(
    readonly code: Code,
    readonly description: string,
  ) {
    super(description);
    this.name = OAuthError.name;
  }
}

/** Writes OAuth errors in the form that the RFCs define. */
@Catch(OAuthError)
export class OAuthErrorFilter implements ExceptionFilter<OAuthError> {
  catch({ code, description }: OAuthError, host: ArgumentsHost): void {
    const response = host.switchToHttp().getResponse<Response>();
    response
      .status(code === 'invalid_client' ? 401 : 400)
      .set('Cache-Control', 'no-store')
      .json({ error: code, error_description: description });
  }
}

export type RequestParameters = ReadonlyMap<string, string>;

/**
 * Returns the parameters of a query or a form.
 *
 * @throws OAuthError if a parameter occurs twice, because other programs might read the other value
 */
export function readParameters(text: string): RequestParameters {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(text)) {
    if (parameters.has(name)) throw new OAuthError('invalid_request', 'a parameter occurs twice');
    parameters.set(name, value);
  }
  return parameters;
}
