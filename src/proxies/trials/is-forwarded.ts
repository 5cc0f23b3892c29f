import type { Request } from 'express';

/** Headers other than X-Forwarded-For with which a proxy reveals its client. */
const REVEALING_HEADERS = ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip'];

/**
 * Whether a proxy before our own load balancers revealed its client.
 *
 * @param request.ips the addresses of X-Forwarded-For up to the first that is not our load balancer; empty if
 *   the request did not come from one
 */
export function isForwarded({ ips, headers }: Pick<Request, 'ips' | 'headers'>): boolean {
  const forwardedFor = [headers['x-forwarded-for'] ?? []].flat().flatMap((list) => list.split(','));
  if (forwardedFor.length > ips.length) return true;
  // A load balancer of ours may set these itself.
  return ips.length === 0 && REVEALING_HEADERS.some((name) => headers[name] !== undefined);
}
