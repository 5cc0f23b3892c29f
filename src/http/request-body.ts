import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { RequestTimeoutException } from '@nestjs/common';
import { domainError } from '../common';
import type { JsonValue } from './json/json-value';
import { JsonSyntaxError, parseJson } from './json/parse-json';
import { Refusal, RequestInvalid } from './validation/refusal';

/** For routes without another limit. */
export const MAX_BODY_BYTES = 100 * 1024;

export class BodyTooLarge extends domainError('body-too-large', 'Request Entity Too Large') {}

export class ContentEncodingUnsupported extends domainError(
  'unsupported-encoding',
  'The body must be sent without Content-Encoding',
  { headers: { 'Accept-Encoding': 'identity' } },
) {}

export class BodyUnreadable extends domainError(
  'bad-request',
  'There was an error parsing the body',
  (cause?: unknown) => ({ cause }),
) {}

/** The bounds of bodies that do not arrive at once. */
export interface SlowBodies {
  /** Counts a body until it has arrived. Throws if too many are under way. */
  readonly enter: () => () => void;
  readonly stallMs?: number | undefined;
}

/** Longer than between a request and its body on most networks: what arrives by then is not counted. */
const AT_ONCE_MS = 250;
/** How long nothing may arrive. A network that loses packets sends them again within this time. */
const STALL_MS = 5000;

/**
 * Receives the body without decoding a Content-Encoding. At a limit it throws at once and discards the rest,
 * so that a caller who is still sending receives the response.
 *
 * @throws BodyTooLarge
 * @throws RequestTimeoutException when nothing arrives for a while, and what `slow.enter` throws
 * @throws BodyUnreadable when the caller disconnects
 */
export async function receiveBody(
  request: IncomingMessage,
  maxBytes: number,
  slow: SlowBodies,
): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge();
  if (request.destroyed) throw new BodyUnreadable();
  const chunks: Buffer[] = [];
  let byteCount = 0;
  let leave: (() => void) | undefined;
  let timer: NodeJS.Timeout | undefined;
  try {
    return await new Promise<Buffer>((resolve, reject) => {
      const stall = (): void => reject(new RequestTimeoutException());
      const count = (): void => {
        try {
          leave = slow.enter();
          timer = setTimeout(stall, slow.stallMs ?? STALL_MS);
        } catch (error) {
          reject(error);
        }
      };
      if (!request.complete) timer = setTimeout(count, AT_ONCE_MS);
      request.on('data', (chunk: Buffer) => {
        byteCount += chunk.length;
        if (byteCount > maxBytes) reject(new BodyTooLarge());
        else chunks.push(chunk);
        if (leave) timer?.refresh();
      });
      request.once('end', () => resolve(Buffer.concat(chunks)));
      const cut = (error?: Error): void => {
        // Every request is closed, and an error costs more than the rest of a short body.
        if (!request.readableEnded) reject(new BodyUnreadable(error));
      };
      request.once('error', cut).once('close', cut);
    });
  } catch (error) {
    request.removeAllListeners('data').resume();
    throw error;
  } finally {
    clearTimeout(timer);
    leave?.();
  }
}

/**
 * Turns the received bytes into the value that is validated: the JSON document, the text if the content type
 * is not JSON, or null if there is no body.
 *
 * @throws RequestInvalid when it is not JSON
 * @throws BodyUnreadable when it is not UTF-8, or too complex for the JSON parser
 */
export function parseBody(bytes: Buffer, contentType: string | undefined): JsonValue {
  if (bytes.length === 0) return null;
  if (!isJson(contentType)) return bytes.toString('utf8');
  if (!isUtf8(bytes)) throw new BodyUnreadable();
  try {
    return parseJson(new TextDecoder().decode(bytes));
  } catch (error) {
    throw error instanceof JsonSyntaxError ? jsonInvalid(error) : new BodyUnreadable(error);
  }
}

function isJson(contentType: string | undefined): boolean {
  if (!contentType) return true;
  const [mediaType = ''] = contentType.split(';', 1);
  return /^application\/(?:json|[^/]*\+json)$/i.test(mediaType.trim());
}

function jsonInvalid({ message, position }: JsonSyntaxError): RequestInvalid {
  const refusal = new Refusal('json_invalid', 'JSON decode error', {}, { error: message });
  return new RequestInvalid([refusal.at('body', position)]);
}
