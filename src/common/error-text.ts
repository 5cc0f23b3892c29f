/** Avoids `instanceof`, which fails for system errors under Jest. */
export const messageOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'message' in error ? String(error.message) : String(error);

/** Returns only the stack, because other properties may contain SQL parameters or the provider's address. */
export const stackOf = (error: unknown): string =>
  typeof error === 'object' && error !== null && 'stack' in error ? String(error.stack) : messageOf(error);
