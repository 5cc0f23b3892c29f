import { ApiHeader } from '@nestjs/swagger';
import type { Response } from 'express';

interface IdempotencyKeyOptions {
  readonly required: boolean;
  /** What a repetition does on this route, and after which answers to repeat. */
  readonly description: string;
  readonly example?: string;
}

/** Describes the header that makes a request safe to repeat. */
export const ApiIdempotencyKey = ({ required, description, example }: IdempotencyKeyOptions) =>
  ApiHeader({
    name: 'Idempotency-Key',
    required,
    description,
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    ...(example !== undefined && { example }),
  });

/** Describes the header of an answer that {@link markReplay} sets. */
export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    description: 'Present when this is the stored answer to an earlier request with the same Idempotency-Key',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};

/** Marks an answer as that of an earlier request with the same key. */
export function markReplay(response: Response, replayed: boolean): void {
  if (replayed) response.setHeader('Idempotency-Replayed', 'true');
}

/** Whether an answer was marked by {@link markReplay}. */
export const isReplay = (response: Response): boolean => response.hasHeader('Idempotency-Replayed');
