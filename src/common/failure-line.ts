import { EnvironmentError } from '../config';

/** The system's and pg's ways of saying that nobody answers at an address. */
const UNREACHABLE_CODES: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'ETIMEDOUT',
]);
const CONNECT_TIMEOUT = /connect.*timeout|timeout.*connect/i;

/** Why a process could not do what it was started for, in one line for the person who started it. */
export function failureLine(error: unknown): string {
  if (error instanceof EnvironmentError) return `The environment is not usable: ${error.problems.join('; ')}`;
  if (!(error instanceof Error)) return 'Failed';
  // An address that stands for several has an error without a message, but with the code.
  if (('code' in error && UNREACHABLE_CODES.has(error.code)) || CONNECT_TIMEOUT.test(error.message)) {
    return 'The database cannot be reached';
  }
  return error.message.replaceAll(/\s*\n\s*/g, ' ');
}
