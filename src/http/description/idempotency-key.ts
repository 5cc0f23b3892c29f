import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { missing } from '../validation/fields';
import { InputMistake } from '../validation/input-mistake';
import { readBefore } from '../validation/route-input';

const NAME = 'Idempotency-Key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

export interface IdempotencyKeyOptions {
  readonly required: boolean;
  /** Effect of a retry on this route, and the responses after which to retry. */
  readonly description: string;
  /** If present, Swagger UI fills in a new key. */
  readonly example?: string;
}

/** Parses a key with or without the quotes of the draft standard. Both spellings mean the same key. */
export function readIdempotencyKey(header: string): string | InputMistake {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (VISIBLE_ASCII.test(key)) return key;
  const msg = 'Idempotency-Key should be 1 to 255 visible ASCII characters';
  return new InputMistake('idempotency_key_invalid', msg, header);
}

/** Describes and checks the header that makes a request safe to retry. */
export const ApiIdempotencyKey =
  ({ required, description, example }: IdempotencyKeyOptions): MethodDecorator =>
  (route, handler, descriptor) => {
    const read = (header: string | undefined) =>
      header === undefined ? required && missing(null) : readIdempotencyKey(header);
    readBefore(route, handler, { place: 'header', name: NAME, read });
    ApiHeader({
      name: NAME,
      required,
      description,
      schema: {
        type: 'string',
        minLength: 1,
        maxLength: 255,
        pattern: '^[!-~]+$',
        ...(example !== undefined && { example }),
      },
    })(route, handler, descriptor);
  };

/** Header that {@link markReplay} sets. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    description:
      'Present when this is the stored response to an earlier request with the same Idempotency-Key',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};

/** Marks a response that repeats the stored response to an earlier request with the same key. */
export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}

/** Whether {@link markReplay} marked the response. */
export const isReplay = (response: Response): boolean => response.hasHeader('Idempotency-Replayed');
