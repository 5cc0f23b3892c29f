import { once } from 'node:events';
import type { Response } from 'express';
import { eventIdOf, type EventOut } from '../event-types';
import type { EventPage } from './event-pages';
import type { Waiter } from './event-waits';

/** Shows proxies on the way, and the reader, that the connection is alive. */
const HEARTBEAT_MS = 15_000;
/** When a client should reconnect. */
const RETRY_MS = 2000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // nginx would buffer some kilobytes of events.
  'X-Accel-Buffering': 'no',
};

export interface StreamSource {
  readonly waiter: Waiter;
  readonly read: (after: number) => Promise<EventPage>;
  /** Whether the stream should end: the caller lost access, or the replica is stopping. */
  readonly isOver: () => boolean;
  /** Aborted when the stream is over. */
  readonly over: AbortSignal;
}

/**
 * Writes events as they are published (`text/event-stream`), until the caller leaves or the stream is over.
 * For a slow reader, one page waits in memory, and no more is read.
 *
 * @param first is read before the status is sent, so that its errors have their own status
 */
export async function writeEventStream(
  response: Response,
  first: EventPage,
  { waiter, read, isOver, over }: StreamSource,
): Promise<void> {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const isOpen = (): boolean => !isOver() && !response.destroyed;
  const write = async (text: string): Promise<void> => {
    if (response.write(text)) return;
    await once(response, 'drain', { signal: over }).catch(() => undefined);
  };
  let page = first;
  await write(`retry: ${RETRY_MS}\n\n${page.items.map(toMessage).join('')}`);
  while (isOpen()) {
    if (!page.isFull) {
      const { isCalled, position } = await waiter.wait(page.next, HEARTBEAT_MS);
      if (!isOpen()) break;
      // An id without data advances the reader's `Last-Event-ID` without an event.
      if (!isCalled) await write(`: still here\nid: ${eventIdOf(position)}\n\n`);
      page = isCalled ? await read(position) : { items: [], next: position, isFull: false };
    } else {
      page = await read(page.next);
    }
    if (page.items.length > 0) await write(page.items.map(toMessage).join(''));
  }
  // A slow reader continues at another replica after the last complete event.
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}

const toMessage = (event: EventOut): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
