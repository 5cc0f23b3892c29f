import { once } from 'node:events';
import type { Response } from 'express';
import type { EventOut } from '../event-types';
import { eventId } from './cursor';
import type { EventPage } from './event-pages';
import type { Waiter } from './event-waits';

/** Tells proxies on the way, and the reader, that the connection lives. */
const HEARTBEAT_MS = 15_000;
/** When a client should connect again. */
const RETRY_MS = 2000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // nginx would keep events back until it has some kilobytes of them.
  'X-Accel-Buffering': 'no',
};

export interface StreamSource {
  readonly waiter: Waiter;
  readonly read: (after: number) => Promise<EventPage>;
  /** Whether the stream should come to its end: the caller may read no more, or the replica is stopping. */
  readonly isOver: () => boolean;
  /** Aborted when the stream is over. */
  readonly over: AbortSignal;
}

/**
 * Writes events as they come (`text/event-stream`), until the caller leaves or the stream is over. Of a
 * reader who is slow, one page waits in memory, and no more is read.
 *
 * @param first was read before, so that errors until then have their own status
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
      // An id without data moves the reader's `Last-Event-ID` on, and is no event.
      if (!isCalled) await write(`: still here\nid: ${eventId(position)}\n\n`);
      page = isCalled ? await read(position) : { items: [], next: position, isFull: false };
    } else {
      page = await read(page.next);
    }
    if (page.items.length > 0) await write(page.items.map(toMessage).join(''));
  }
  // Whoever is behind goes on elsewhere from the last event that arrived whole.
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}

const toMessage = (event: EventOut): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
