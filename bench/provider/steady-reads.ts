import { once } from 'node:events';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { type Customer, nowMs, pauseUntil } from '../support/order-client';

export interface Read {
  readonly path: string;
  /** 0 when the connection was lost. */
  readonly status: number;
  readonly tookMs: number;
}

export interface SteadyReads {
  readonly baseUrls: readonly string[];
  readonly customer: Customer;
  readonly paths: readonly string[];
  readonly perSecond: number;
  readonly fromMs: number;
  readonly untilMs: number;
}

/**
 * Sends reads at a fixed rate, independent of the responses, from a separate thread: otherwise the load of
 * orders in this thread would delay them.
 */
export async function readSteadily(reads: SteadyReads): Promise<Read[]> {
  const [done]: Read[][] = await once(new Worker(__filename, { workerData: reads }), 'message');
  return done ?? [];
}

async function readHere({
  baseUrls,
  customer,
  paths,
  perSecond,
  fromMs,
  untilMs,
}: SteadyReads): Promise<Read[]> {
  const reads: Promise<Read>[] = [];
  for (let atMs = fromMs; atMs < untilMs; atMs += 1000 / perSecond) {
    await pauseUntil(atMs);
    // Every path is sent to every replica.
    const baseUrl = baseUrls[Math.floor(reads.length / paths.length) % baseUrls.length] ?? '';
    reads.push(read(baseUrl, paths[reads.length % paths.length] ?? '', customer));
  }
  return Promise.all(reads);
}

export async function read(baseUrl: string, path: string, { token }: Customer): Promise<Read> {
  const sentAtMs = nowMs();
  const status = await fetch(baseUrl + path, { headers: { Authorization: `Bearer ${token}` } }).then(
    async (response) => {
      await response.arrayBuffer();
      return response.status;
    },
    () => 0,
  );
  return { path, status, tookMs: nowMs() - sentAtMs };
}

if (!isMainThread) {
  const given: SteadyReads = workerData;
  void readHere(given).then((reads) => parentPort?.postMessage(reads, []));
}
