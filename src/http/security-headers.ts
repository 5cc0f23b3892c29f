import { IncomingMessage, ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import helmet from 'helmet';

/** Answers are data and load nothing. A page sets a policy of its own. */
const NOTHING_IS_LOADED = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

/**
 * The headers that helmet gives to every answer. They never differ, so that helmet is asked once. TLS, if
 * there is any, ends at a proxy in front, which decides about Strict-Transport-Security.
 */
function askHelmet(): readonly (readonly [name: string, value: string])[] {
  const request = new IncomingMessage(new Socket());
  const response = new ServerResponse(request);
  const headers: [name: string, value: string][] = [];
  response.setHeader = (name, value) => {
    headers.push([name, String(value)]);
    return response;
  };
  const ask = helmet({ strictTransportSecurity: false, contentSecurityPolicy: NOTHING_IS_LOADED });
  ask(request, response, () => undefined);
  return headers;
}

const HEADERS = askHelmet();

export function setSecurityHeaders(response: ServerResponse): void {
  for (const [name, value] of HEADERS) response.setHeader(name, value);
}
