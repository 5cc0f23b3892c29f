/**
 * Whether it is an error with that code: of the system (`ENOENT`) or of PostgreSQL (`28P01`).
 * Not asked with `instanceof`, which under Jest does not know the system's errors.
 */
export function isErrorWithCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
