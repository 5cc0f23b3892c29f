import type { Request } from 'express';

/** Headers by which a proxy tells on whose behalf it asks, beside X-Forwarded-For. */
const TELLING = ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip'];

/**
 * Whether somebody before our own load balancers told on whose behalf the request comes.
 *
 * @param request.ips the addresses of X-Forwarded-For up to the first that is no load balancer of ours; empty
 *   when the request came from none of them
 */
export function isForwarded({ ips, headers }: Pick<Request, 'ips' | 'headers'>): boolean {
  const told = [headers['x-forwarded-for'] ?? []].flat().flatMap((list) => list.split(','));
  if (told.length > ips.length) return true;
  // A load balancer of ours may set these itself.
  return ips.length === 0 && TELLING.some((name) => headers[name] !== undefined);
}
