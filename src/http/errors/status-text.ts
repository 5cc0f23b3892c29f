import { STATUS_CODES } from 'node:http';

/** The text for an error that has none of its own. Callers know 413 by its older name. */
export function statusText(status: number): string {
  return status === 413 ? 'Request Entity Too Large' : (STATUS_CODES[status] ?? 'Error');
}
