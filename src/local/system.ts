/**
 * Whether a value is an error with this code, from the system (`ENOENT`) or from PostgreSQL (`28P01`). Avoids
 * `instanceof`, which does not recognize the system's errors under Jest.
 */
export function isErrorWithCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** Whether a process with this id exists, even if it belongs to another user. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isErrorWithCode(error, 'EPERM');
  }
}
