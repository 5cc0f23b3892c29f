/** Accepts system codes (`ENOENT`) and PostgreSQL codes (`28P01`). `instanceof` would fail under Jest. */
export function isErrorWithCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}

/** Another user's process also counts as alive. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isErrorWithCode(error, 'EPERM');
  }
}
