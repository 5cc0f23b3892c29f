import { once } from 'node:events';
import type { Response } from 'express';
import { eventIdOf, type PublishedEvent } from '../event-types';
import type { EventBatch } from './event-page-reader';

const HEARTBEAT_MS = 15_000;
const RETRY_MS = 2000;

const HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // Without this header, nginx would buffer several kilobytes of events.
  'X-Accel-Buffering': 'no',
};

export interface StreamSource {
  readonly readAfter: (page: EventBatch, timeoutMs: number) => Promise<EventBatch>;
  /** Whether the caller lost access, or the replica is stopping. */
  readonly isOver: () => boolean;
  readonly over: AbortSignal;
}

/** The caller must read `first` beforehand, because an error can no longer change the status here. */
export async function writeEventStream(
  response: Response,
  first: EventBatch,
  { readAfter, isOver, over }: StreamSource,
): Promise<void> {
  for (const [name, value] of Object.entries(HEADERS)) response.setHeader(name, value);
  const isOpen = (): boolean => !isOver() && !response.destroyed;
  let writtenAtMs = 0;
  const write = async (text: string): Promise<void> => {
    writtenAtMs = performance.now();
    if (response.write(text)) return;
    await once(response, 'drain', { signal: over }).catch(() => undefined);
  };
  let page = first;
  await write(`retry: ${RETRY_MS}\n\n${page.items.map(toMessage).join('')}`);
  while (isOpen()) {
    page = await readAfter(page, writtenAtMs + HEARTBEAT_MS - performance.now());
    if (page.items.length > 0) await write(page.items.map(toMessage).join(''));
    // A message with an id but no data advances the reader's `Last-Event-ID` without an event.
    else if (performance.now() - writtenAtMs >= HEARTBEAT_MS) {
      await write(`: still here\nid: ${eventIdOf(page.next)}\n\n`);
    }
  }
  // Disconnect a slow reader. It can reconnect, to any replica, and resume after the last complete event.
  if (response.writableNeedDrain) response.destroy();
  else response.end();
}

const toMessage = (event: PublishedEvent): string =>
  `id: ${event.id}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
