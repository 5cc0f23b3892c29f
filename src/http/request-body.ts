import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { domainError } from '../common';
import type { JsonValue } from './json/json-value';
import { JsonSyntaxError, parseJson } from './json/parse-json';
import { Refusal, RequestInvalid } from './validation/refusal';

/** For routes without another limit. */
export const MAX_BODY_BYTES = 100 * 1024;

export class BodyTooLarge extends domainError('body-too-large', 'Request Entity Too Large') {}

export class BodyUnreadable extends domainError(
  'bad-request',
  'There was an error parsing the body',
  (cause?: unknown) => ({ cause }),
) {}

/**
 * Receives the body without decoding a Content-Encoding. Above the limit it throws at once and discards the
 * rest, so that a caller who is still sending receives the response.
 *
 * @throws BodyTooLarge
 * @throws BodyUnreadable when the caller disconnects
 */
export async function receiveBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) throw new BodyTooLarge();
  const chunks: Buffer[] = [];
  let byteCount = 0;
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      byteCount += chunk.length;
      if (byteCount > maxBytes) {
        request.resume();
        throw new BodyTooLarge();
      }
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof BodyTooLarge ? error : new BodyUnreadable(error);
  }
  return Buffer.concat(chunks);
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
