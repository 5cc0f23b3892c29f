import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { RequestTimeoutException } from '@nestjs/common';
import { domainError } from '../common';
import type { JsonValue } from './json/json-value';
import { JsonSyntaxError, parseJson } from './json/parse-json';
import { InputMistake, RequestInvalid } from './validation/input-mistake';

/** Applies to routes without `@MaxBodyBytes`. */
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

export interface SlowBodies {
  /** Counts a body as slow until the returned function is called. Throws if too many bodies are slow. */
  readonly enter: () => () => void;
  readonly stallMs?: number | undefined;
}

/** A body counts as slow after this time. */
const AT_ONCE_MS = 250;
/** Maximum time without receiving any data. Networks resend lost packets sooner than this. */
const STALL_MS = 5000;

/**
 * Reads a body. Throws as soon as a limit is exceeded, but continues to read and discard data, so that even a
 * client that is still sending receives the response.
 * @throws BodyTooLarge, BodyUnreadable if the client disconnects, or the errors of `slow.enter`
 * @throws RequestTimeoutException if no data arrives for a while
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
        // Every request emits `close`. Create the error only if it is needed, because creating it takes
        // longer than reading a short body.
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
 * Returns the JSON document, the text if the content type is not JSON, or null if there is no body.
 * @throws RequestInvalid if the body is not JSON
 * @throws BodyUnreadable if the body is not UTF-8 or too complex
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
  const mistake = new InputMistake('json_invalid', 'JSON decode error', {}, { error: message });
  return new RequestInvalid([mistake.at('body', position)]);
}
