import { sendRequest } from './requests';
import type { BenchRequest, Server } from './subjects';

const SHOWN_BYTES = 80;

/**
 * Ensures that the service and the baseline do the same work.
 *
 * @throws Error when their responses to a request differ or are not 200
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
    const at = one.findIndex((byte, index) => byte !== other[index]);
    const part = (bytes: Buffer): string => bytes.toString('utf8', Math.max(at, 0), at + SHOWN_BYTES);
    throw new Error(`${request.path}: the service responds with ${part(one)}, bare node with ${part(other)}`);
  }
}
