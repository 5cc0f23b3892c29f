/**
 * What a caught value says for itself.
 * Not asked with `instanceof`, which under Jest does not know the system's own errors.
 */
export const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

/** The stack alone: an error's other properties may hold SQL parameters or the address of a provider. */
export const stackOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : messageOf(error);
