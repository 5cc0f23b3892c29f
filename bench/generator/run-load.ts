import { setTimeout as pause } from 'node:timers/promises';
import { type CompletedRequest, Connection } from './connection';
import type { LoadJob, LoadResult } from './load-job';

/** Limit at a fixed rate; requests beyond it wait here, and the wait counts as latency. */
const MAX_CONNECTIONS = 256;
const TICK_MS = 1;
/** How long outstanding responses are awaited after the end. */
const DRAIN_MS = 30_000;

/** Collects results. Latency starts when a request is due, which avoids coordinated omission. */
class Tally {
  sent = 0;
  private answered = 0;
  private readonly latencies: number[] = [];
  private readonly firstBytes: number[] = [];
  private readonly failures: Record<string, number> = {};

  /**
   * @param isMeasured whether the response (closed loop) or the due time (fixed rate) is in the measured
   * time
   */
  note(
    { status, begunAtMs, answeredAtMs }: CompletedRequest,
    intendedAtMs: number,
    isMeasured: boolean,
  ): void {
    if (status < 200 || status > 299) this.failures[status] = (this.failures[status] ?? 0) + 1;
    else if (isMeasured) {
      this.answered += 1;
      this.latencies.push(answeredAtMs - intendedAtMs);
      this.firstBytes.push(begunAtMs - intendedAtMs);
    }
  }

  fail(status: number, count: number): void {
    if (count > 0) this.failures[status] = (this.failures[status] ?? 0) + count;
  }

  result(seconds: number): LoadResult {
    return {
      answered: this.answered,
      seconds,
      sent: this.sent,
      latenciesMs: Float64Array.from(this.latencies),
      firstBytesMs: Float64Array.from(this.firstBytes),
      failures: this.failures,
    };
  }
}

export async function runLoad(job: LoadJob): Promise<LoadResult> {
  const requests = job.requests.map((request) => Buffer.from(request, 'utf8'));
  if (requests.length === 0) throw new Error('A load without requests');
  return job.perSecond === null
    ? runClosedLoop(job, requests)
    : runAtRate({ ...job, perSecond: job.perSecond }, requests);
}

/**
 * Each connection sends requests one after the other, at least one. Responses within the time count. If
 * there are none, the late ones count, over the time that they took.
 */
async function runClosedLoop(job: LoadJob, requests: readonly Buffer[]): Promise<LoadResult> {
  const connections = await openConnections(job.ports, Math.min(job.connections, requests.length));
  const tally = new Tally();
  const fromMs = performance.now() + job.warmupSeconds * 1000;
  const untilMs = fromMs + job.seconds * 1000;
  const late: CompletedRequest[] = [];
  await Promise.all(
    connections.map(
      (connection, place) =>
        new Promise<void>((resolve) => {
          let next = place;
          let sent = 0;
          const send = (): void => {
            const isOver = sent > 0 && performance.now() >= untilMs;
            if (isOver || connection.isLost) {
              resolve();
              return;
            }
            sent += 1;
            tally.sent += 1;
            connection.send(requests[next] as Buffer, (answered) => {
              const { answeredAtMs, sentAtMs } = answered;
              if (answeredAtMs >= untilMs) late.push(answered);
              tally.note(answered, sentAtMs, answeredAtMs >= fromMs && answeredAtMs < untilMs);
              next += connections.length;
              if (next >= requests.length) next = place;
              send();
            });
          };
          send();
        }),
    ),
  );
  for (const connection of connections) connection.close();
  const result = tally.result(job.seconds);
  if (result.answered > 0 || late.length === 0) return result;
  for (const answered of late) tally.note(answered, answered.sentAtMs, true);
  const endMs = Math.max(...late.map(({ answeredAtMs }) => answeredAtMs));
  const begunMs = Math.min(...late.map(({ sentAtMs }) => sentAtMs));
  return tally.result((endMs - begunMs) / 1000);
}

async function runAtRate(
  job: LoadJob & { readonly perSecond: number },
  requests: readonly Buffer[],
): Promise<LoadResult> {
  const idle = await openConnections(job.ports, job.connections);
  const all = [...idle];
  const tally = new Tally();
  const due: { readonly request: Buffer; readonly atMs: number }[] = [];
  const distanceMs = 1000 / job.perSecond;
  const startMs = performance.now();
  const fromMs = startMs + job.warmupSeconds * 1000;
  const untilMs = fromMs + job.seconds * 1000;
  let underWay = 0;
  let opening = 0;

  const sendDue = (): void => {
    while (due.length > 0) {
      const connection = idle.pop();
      if (!connection) return;
      if (connection.isLost) continue;
      const next = due.shift();
      if (!next) return;
      underWay += 1;
      tally.sent += 1;
      connection.send(next.request, (answered) => {
        underWay -= 1;
        tally.note(answered, next.atMs, next.atMs >= fromMs);
        idle.push(connection);
        sendDue();
      });
    }
  };
  const openOne = async (): Promise<void> => {
    try {
      const connection = await Connection.open(portOf(job.ports, all.length + opening));
      all.push(connection);
      idle.push(connection);
    } catch {
      // The open connections continue; requests that are never sent count as lost.
    }
    opening -= 1;
    sendDue();
  };
  const openMore = (): void => {
    const wanted = Math.min(due.length - opening, MAX_CONNECTIONS - all.length - opening);
    for (let n = 0; n < wanted; n += 1) {
      opening += 1;
      void openOne();
    }
  };

  let planned = 0;
  for (let atMs = startMs; atMs < untilMs;) {
    const nowMs = performance.now();
    for (; atMs <= nowMs && atMs < untilMs; atMs = startMs + planned * distanceMs) {
      due.push({ request: requests[planned % requests.length] as Buffer, atMs });
      planned += 1;
    }
    sendDue();
    openMore();
    await pause(TICK_MS);
  }
  const deadlineMs = untilMs + DRAIN_MS;
  const left = (): number => due.length + underWay;
  while (left() > 0 && performance.now() < deadlineMs) await pause(TICK_MS);
  tally.fail(0, left());
  for (const connection of all) connection.close();
  return tally.result(job.seconds);
}

function openConnections(ports: readonly number[], count: number): Promise<Connection[]> {
  return Promise.all(Array.from({ length: count }, (_, place) => Connection.open(portOf(ports, place))));
}

const portOf = (ports: readonly number[], place: number): number => ports[place % ports.length] ?? 0;
