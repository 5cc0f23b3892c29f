/** Whether it is an error of the operating system with that code, such as `ENOENT`. */
export function hasErrorCode(error: unknown, code: string): boolean {
  return typeof error === 'object' && error !== null && 'code' in error && error.code === code;
}
