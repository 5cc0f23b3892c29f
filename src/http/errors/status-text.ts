import { STATUS_CODES } from 'node:http';

/** The text of an error without one. Clients know 413 by its older name. */
export function statusText(status: number): string {
  return status === 413 ? 'Request Entity Too Large' : (STATUS_CODES[status] ?? 'Error');
}
