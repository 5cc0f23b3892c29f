import { ApiHeader } from '@nestjs/swagger';

/** The header that makes a posting safe to repeat, for the description of its route. */
export const ApiIdempotencyKey = ({ required }: { required: boolean }) =>
  ApiHeader({
    name: 'Idempotency-Key',
    required,
    description:
      'Makes it safe to repeat the request: with the same key, which is your own, it is done once, and answered with the same body and ' +
      '`Idempotency-Replayed: true` from then on. Repeat on 5xx and lost connections.',
    schema: { type: 'string', minLength: 1, maxLength: 255, pattern: '^[!-~]+$' },
    example: 'ticket-817',
  });

export const REPLAYED_HEADER = {
  'Idempotency-Replayed': {
    description: 'Present when the answer is that of an earlier request with the same Idempotency-Key',
    schema: { type: 'string' as const, enum: ['true'] },
  },
};
