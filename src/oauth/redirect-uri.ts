import { LOOPBACK_HOSTS } from '../common';

const MAX_LENGTH = 2000;

/** Whether a client may register a URI: https anywhere, or http on the customer's own machine. */
export function isRedirectUri(text: string): boolean {
  // Characters outside this range could end the `Location` header or a source in the content security policy.
  if (text.length > MAX_LENGTH || !/^[\x21-\x7e]+$/.test(text) || !URL.canParse(text)) return false;
  const { protocol, username, password } = new URL(text);
  if (username !== '' || password !== '' || text.includes('#') || text.includes('\\')) return false;
  return protocol === 'https:' || isOnLoopback(text);
}

export function isOnLoopback(text: string): boolean {
  const { protocol, hostname } = new URL(text);
  return protocol === 'http:' && LOOPBACK_HOSTS.has(hostname);
}

/** The port of a loopback address may differ, because programs choose it at startup (RFC 8252, 7.3). */
export const isRegistered = (registered: readonly string[], given: string): boolean =>
  isRedirectUri(given) &&
  registered.some(
    (uri) =>
      uri === given || (isOnLoopback(uri) && isOnLoopback(given) && withoutPort(uri) === withoutPort(given)),
  );

const withoutPort = (uri: string): string => uri.replace(/^(http:\/\/(?:\[::1\]|[^/:?]+)):\d*/i, '$1');
