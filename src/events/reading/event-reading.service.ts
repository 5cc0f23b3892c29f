import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AccessRecheck } from '../../auth';
import { DomainError, messageOf } from '../../common';
import { Notifier, type RowWait } from '../../database';
import { RequestsUnderWay } from '../../http';
import { Metrics } from '../../metrics';
import { type EventBatch, EventPageReader, type EventRequest, type NewestEvents } from './event-page-reader';
import { writeEventStream } from './event-stream';

const RECHECK_MS = 5000;

interface OpenStream {
  readonly request: Request;
  readonly end: () => void;
}

@Injectable()
export class EventReadingService implements OnModuleDestroy {
  private readonly logger = new Logger(EventReadingService.name);
  private readonly streams = new Set<OpenStream>();
  private rechecking: NodeJS.Timeout | undefined;

  constructor(
    private readonly pages: EventPageReader,
    private readonly notifier: Notifier,
    private readonly underWay: RequestsUnderWay,
    private readonly access: AccessRecheck,
    metrics: Metrics,
  ) {
    metrics.addReader((set) => {
      set('event_readers', { kind: 'stream' }, this.streams.size);
      set('event_readers', { kind: 'poll' }, this.pages.awaited.count() - this.streams.size);
    });
  }

  onModuleDestroy(): void {
    clearInterval(this.rechecking);
  }

  get isEnding(): boolean {
    return this.notifier.isEnding;
  }

  /** @throws EventsGone, CursorUnknown, TooManyUnderWay, and the access check's errors */
  async poll(
    request: Request,
    query: EventRequest,
    waitMs: number,
    hungUp: AbortSignal,
  ): Promise<EventBatch> {
    if (waitMs === 0) return this.pages.read(query);
    const endsAtMs = performance.now() + waitMs;
    return this.withWait(query.userId, async (wait) => {
      let page = await this.pages.read(query);
      if (page.items.length > 0 || page.isFull) return page;
      do {
        page = await this.readAfter(page, query, { wait, timeoutMs: endsAtMs - performance.now(), hungUp });
        if (hungUp.aborted) return page;
      } while (page.items.length === 0 && !page.isFull && performance.now() < endsAtMs && !this.isEnding);
      await this.access.assertStillAllowed(request, 'events:read');
      return page;
    });
  }

  /** Errors after the first event end the response. @throws EventsGone, CursorUnknown, TooManyUnderWay */
  async stream(
    request: Request,
    response: Response,
    query: EventRequest,
    hungUp: AbortSignal,
  ): Promise<void> {
    const ending = new AbortController();
    const over = AbortSignal.any([hungUp, ending.signal]);
    const stream: OpenStream = { request, end: () => ending.abort() };
    try {
      await this.withWait(query.userId, async (wait) => {
        const first = await this.pages.read(query);
        this.streams.add(stream);
        this.rechecking ??= setInterval(() => void this.recheckAll(), RECHECK_MS);
        await writeEventStream(response, first, {
          readAfter: (page, timeoutMs) => this.readAfter(page, query, { wait, timeoutMs, hungUp: over }),
          isOver: () => over.aborted || this.isEnding,
          over,
        });
      });
    } catch (error) {
      if (!response.headersSent) throw error;
      // The status has already been sent. The reader will reconnect, and get the error in that response.
      if (!(error instanceof DomainError)) this.logger.warn(`a stream was ended: ${messageOf(error)}`);
      response.end();
    } finally {
      this.streams.delete(stream);
      if (this.streams.size === 0) {
        clearInterval(this.rechecking);
        this.rechecking = undefined;
      }
    }
  }

  /** Ends the streams of callers who lost access. Never rejects. */
  async recheckAll(): Promise<void> {
    await Promise.all(
      [...this.streams].map(async ({ request, end }) => {
        try {
          if (this.isEnding) end();
          await this.access.assertStillAllowed(request, 'events:read');
        } catch (error) {
          if (error instanceof DomainError) end();
          else this.logger.warn(`could not check whether a stream is still allowed: ${messageOf(error)}`);
        }
      }),
    );
  }

  /**
   * Listens during the whole request, so that `readAfter` misses no event that arrives before it is called.
   */
  private withWait<Result>(
    userId: number,
    work: (wait: RowWait<NewestEvents>) => Promise<Result>,
  ): Promise<Result> {
    return this.underWay.run('wait', userId, async () => {
      const wait = this.pages.awaited.open(userId);
      try {
        return await work(wait);
      } finally {
        wait.close();
      }
    });
  }

  /** If no event arrives in time, returns an empty page, possibly with a later `next`. */
  private async readAfter(
    { next: after, isFull }: EventBatch,
    query: EventRequest,
    { wait, timeoutMs, hungUp }: { wait: RowWait<NewestEvents>; timeoutMs: number; hungUp: AbortSignal },
  ): Promise<EventBatch> {
    const isCalled = isFull || (await wait.until(({ own }) => (own ?? 0) > after, timeoutMs, hungUp));
    if (isCalled) return this.pages.read({ ...query, after });
    return { items: [], next: Math.max(after, wait.row?.newest ?? 0), isFull };
  }
}
