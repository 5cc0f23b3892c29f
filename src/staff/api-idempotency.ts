import { ApiIdempotencyKey } from '../http';

/** The header that makes a posting safe to repeat, for the description of its route. */
export const ApiPostingKey = ({ required }: { required: boolean }) =>
  ApiIdempotencyKey({
    required,
    description:
      'Makes it safe to repeat the request: with the same key, which is your own, it is done once, and answered ' +
      'with the same body and `Idempotency-Replayed: true` from then on. Repeat on 5xx and lost connections.',
    example: 'ticket-817',
  });
