/**
 * Whether this is an error with that code, of the system (`ENOENT`) or of PostgreSQL (`28P01`). Avoids
 * `instanceof`, which does not recognise the system's errors under Jest.
 */
export function isErrorWithCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** Whether the process exists, even if it belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isErrorWithCode(error, 'EPERM');
  }
}
