import { sendRequest } from './requests';
import type { BenchRequest, Server } from './subjects';

const SHOWN = 80;

/**
 * A comparison counts only between the same answers.
 *
 * @throws Error when the two answer one of the requests differently, or not with 200
 */
export async function assertEquivalentResponses(
  service: Server,
  bare: Server,
  requests: readonly BenchRequest[],
): Promise<void> {
  for (const request of requests) {
    const [one, other] = [
      await sendRequest(service.baseUrl, request),
      await sendRequest(bare.baseUrl, request),
    ];
    if (one.equals(other)) continue;
    const at = one.findIndex((byte, place) => byte !== other[place]);
    const part = (bytes: Buffer): string => bytes.toString('utf8', Math.max(at, 0), at + SHOWN);
    throw new Error(`${request.path}: the service answers ${part(one)}, bare node ${part(other)}`);
  }
}
