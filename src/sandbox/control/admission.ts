import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ControlResponse } from './control-routes';

/**
 * Refuses requests of pages in a browser. A page of another site sends its origin, and one whose name was
 * made to resolve to this machine (DNS rebinding) sends that name as the host.
 */
export function findForeign({ headers, socket }: IncomingMessage): ControlResponse | null {
  const names = ['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${socket.localPort}`);
  if (!names.includes(headers.host?.toLowerCase() ?? '')) return refusal(403, 'Host is not this machine');
  if (headers.origin !== undefined) return refusal(403, 'Pages may not use the control interface');
  return null;
}

/** Refuses clients that cannot read the sandbox's private files. */
export function findStranger({ headers }: IncomingMessage, secret: string): ControlResponse | null {
  const isKnown = timingSafeEqual(digest(headers.authorization ?? ''), digest(`Bearer ${secret}`));
  return isKnown ? null : refusal(401, 'Authorization must be "Bearer" and controlSecret of address.json');
}

function refusal(status: number, error: string): ControlResponse {
  return { status, json: { error } };
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
