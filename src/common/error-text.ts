/** The message of anything that was thrown. Under Jest, `instanceof` fails for errors of the system. */
export const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

/** The stack only: other properties of an error may hold SQL parameters or the address of a provider. */
export const stackOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : messageOf(error);
