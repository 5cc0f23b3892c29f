import { DomainError, domainError } from '../common';
import { RequestInvalid } from '../http';

/** The given reference is unusable, but an order placed with the original reference may still exist. */
export class PreparationUnknown extends domainError(
  'bad-request',
  'This order_ref is corrupted, or it was prepared with another token',
) {}

export class PreparationExpired extends domainError(
  'gone',
  'This order_ref has expired; nothing was charged',
) {}

export class PreparationExpiring extends domainError(
  'conflict',
  'This order_ref has just expired, but an earlier call may still place its order',
  /** @param retryAfterSeconds seconds until retrying is safe: the earlier call can then place no order */
  (retryAfterSeconds: number) => ({ retryAfterSeconds }),
) {}

export class PasswordsNotRevealed extends domainError(
  'bad-request',
  'An export contains passwords, so it requires reveal: true',
) {}

export class ExportTooLarge extends domainError(
  'bad-request',
  (bytes: number) => `The export is larger than ${bytes} bytes`,
) {}

const PREPARED_AGAIN = 'Prepare the order again, and ask the user to confirm it.';

/** Next steps for the agent, by error code. */
const NEXT: Readonly<Record<string, string>> = {
  'address-not-allowed': 'Tell the user that the token does not allow calls from this IP address.',
  'checks-disabled': 'Tell the user that the operator has disabled checks.',
  'daily-limit-exceeded': "Tell the user that this token's daily limit is used up until 00:00 UTC.",
  'export-too-large': 'Narrow the filter.',
  'idempotency-key-in-progress':
    'Call place_order again with the same order_ref. Do not prepare the order again: it may still be ' +
    'executed.',
  'insufficient-balance':
    'Tell the user that the balance is too low. Prepare the order again after a deposit.',
  'invalid-arguments': 'Correct the arguments and call again.',
  'order-being-confirmed':
    'Call place_order again with the same order_ref, after a pause if necessary. Do not prepare the ' +
    'order again: it may have been executed.',
  'preparation-expired': PREPARED_AGAIN,
  'preparation-expiring': 'Call place_order again with the same order_ref after retry_after_seconds.',
  'preparation-unknown':
    'Call place_order with the exact order_ref text. If that also fails, the order may still exist: ' +
    'check equal_orders and list_orders, then ask the user.',
  'passwords-not-revealed':
    'Ask the user whether you may see the passwords, then call again with reveal: true.',
  'price-above-max': `The price has changed. ${PREPARED_AGAIN}`,
  'request-written-off': PREPARED_AGAIN,
};

const NEXT_BY_KIND: Readonly<Partial<Record<DomainError['kind'], string>>> = {
  forbidden: 'Do not call again. Tell the user which permission the token lacks.',
  'not-found': 'Look up the id with the corresponding list tool.',
  'rate-limited': 'Wait, then call again with the same arguments.',
  unavailable: 'Wait, then call again with the same arguments.',
};

const REFUSED = 'Do not call again with the same arguments. Tell the user why the call was refused.';

interface AgentError {
  readonly code: string;
  readonly detail: string;
  readonly next: string;
  readonly retry_after_seconds?: number;
}

/** After an unexpected error, it is unknown whether the call had an effect. */
export const UNEXPECTED_ERROR: AgentError = {
  code: 'internal-server-error',
  detail: 'Internal Server Error',
  next:
    'Call again once with the same arguments (place_order: the same order_ref). If that also fails, ' +
    'tell the user.',
};

/** @returns null for an unexpected error, because callers must not see it */
export function toAgentError(error: unknown): AgentError | null {
  if (error instanceof RequestInvalid) {
    const code = 'invalid-arguments';
    const mistakes = error.items.map((item) => `${nameOf(item.loc)}: ${messageOf(item)}`);
    return { code, detail: mistakes.join('; '), next: NEXT[code] ?? REFUSED };
  }
  if (!(error instanceof DomainError)) return null;
  const { code, detail, kind, headers } = error;
  const retryAfter = headers['Retry-After'];
  return {
    code,
    detail,
    next: NEXT[code] ?? NEXT_BY_KIND[kind] ?? REFUSED,
    ...(retryAfter !== undefined && { retry_after_seconds: Number(retryAfter) }),
  };
}

/** Truncated, because the caller can send any name. */
const nameOf = (loc: readonly (string | number)[]): string => loc.slice(1).join('.').slice(0, 100);

const WANTED: Readonly<Record<string, string>> = {
  int_type: 'integer',
  int_parsing: 'integer',
  int_from_float: 'integer',
  bool_type: 'boolean',
  string_type: 'string',
  list_type: 'array',
};

const messageOf = ({ type, msg }: RequestInvalid['items'][number]): string =>
  type in WANTED ? `Input should be a JSON ${WANTED[type]}` : msg;
