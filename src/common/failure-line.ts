/** System and pg codes of unreachable addresses. */
const UNREACHABLE = /^(ECONNREFUSED|ECONNRESET|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|ETIMEDOUT)$/;
const CONNECT_TIMEOUT = /connect.*timeout|timeout.*connect/i;

/** Explains in one line why the process failed, for the person who started it. */
export function failureLine(error: unknown): string {
  if (!(error instanceof Error)) return 'Failed';
  // For a name with several addresses, Node's error has a code but no message.
  if (('code' in error && UNREACHABLE.test(String(error.code))) || CONNECT_TIMEOUT.test(error.message)) {
    return 'The database cannot be reached';
  }
  return error.message.replaceAll(/\s*\n\s*/g, ' ');
}
