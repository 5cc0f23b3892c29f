import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';
import { missing } from '../validation/fields';
import { InputMistake } from '../validation/input-mistake';
import { readBefore } from '../validation/route-input';

const NAME = 'Idempotency-Key';
const VISIBLE_ASCII = /^[\x21-\x7e]{1,255}$/;

export interface IdempotencyKeyOptions {
  readonly required: boolean;
  readonly description: string;
  /** If set, Swagger UI fills in a newly generated key. */
  readonly example?: string;
}

/** Reads a key with or without the quotes of the IETF draft. Both spellings mean the same key. */
export function readIdempotencyKey(header: string): string | InputMistake {
  const key = /^"(.*)"$/.exec(header)?.[1] ?? header;
  if (VISIBLE_ASCII.test(key)) return key;
  const msg = 'Idempotency-Key should be 1 to 255 visible ASCII characters';
  return new InputMistake('idempotency_key_invalid', msg, header);
}

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

export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    description:
      'Present when this is the stored response to an earlier request with the same Idempotency-Key',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};

export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}

export const isReplay = (response: Response): boolean => response.hasHeader('Idempotency-Replayed');
