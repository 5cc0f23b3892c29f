import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common';
import type { Request, Response } from 'express';
import { AccessRecheck } from '../../auth';
import { DomainError, messageOf } from '../../common';
import { Metrics } from '../../metrics';
import { type EventPage, EventPages, type EventRequest } from './event-pages';
import { writeEventStream } from './event-stream';
import { EventWaits } from './event-waits';

/** How often the access of all readers of streams is rechecked, in a few statements. */
const RECHECK_MS = 5000;

interface OpenStream {
  readonly request: Request;
  readonly end: () => void;
}

/** Serves events to customers: as pages, with long polling, or as a stream. */
@Injectable()
export class EventReadingService implements OnModuleDestroy {
  private readonly logger = new Logger(EventReadingService.name);
  private readonly streams = new Set<OpenStream>();
  private rechecking: NodeJS.Timeout | undefined;

  constructor(
    private readonly pages: EventPages,
    private readonly waits: EventWaits,
    private readonly access: AccessRecheck,
    metrics: Metrics,
  ) {
    metrics.addReader((set) => {
      set('event_readers', { kind: 'stream' }, this.streams.size);
      set('event_readers', { kind: 'poll' }, this.waits.count() - this.streams.size);
    });
  }

  onModuleDestroy(): void {
    clearInterval(this.rechecking);
  }

  /** Whether the replica is stopping. */
  get isEnding(): boolean {
    return this.waits.isEnding;
  }

  /**
   * A page of events. If there are none, it waits for the first.
   *
   * @throws EventsGone, TooManyUnderWay, and after a wait the guard's errors if the caller lost access
   */
  async poll(request: Request, query: EventRequest, waitMs: number, hungUp: AbortSignal): Promise<EventPage> {
    if (waitMs === 0) return this.pages.read(query);
    const endsAtMs = performance.now() + waitMs;
    const waiter = this.waits.open(query.userId, hungUp);
    try {
      let page = await this.pages.read(query);
      let hasWaited = false;
      while (page.items.length === 0 && !hungUp.aborted) {
        const leftMs = endsAtMs - performance.now();
        if (leftMs <= 0) break;
        hasWaited = true;
        const { isCalled, position } = await waiter.wait(page.next, leftMs);
        page = { items: [], next: position, isFull: false };
        if (!isCalled) break;
        page = await this.pages.read({ ...query, after: position });
      }
      if (hasWaited && !hungUp.aborted) await this.access.assertStillAllowed(request, 'events:read');
      return page;
    } finally {
      waiter.close();
    }
  }

  /**
   * Writes events as they are published, until the caller leaves or loses access, or the replica stops.
   *
   * @throws EventsGone, TooManyUnderWay before the first event; later errors end the response
   */
  async stream(
    request: Request,
    response: Response,
    query: EventRequest,
    hungUp: AbortSignal,
  ): Promise<void> {
    const ending = new AbortController();
    const over = AbortSignal.any([hungUp, ending.signal]);
    const waiter = this.waits.open(query.userId, over);
    const stream: OpenStream = { request, end: () => ending.abort() };
    try {
      const first = await this.pages.read(query);
      this.streams.add(stream);
      this.rechecking ??= setInterval(() => void this.recheckAll(), RECHECK_MS);
      await writeEventStream(response, first, {
        waiter,
        read: (after) => this.pages.read({ ...query, after }),
        isOver: () => over.aborted || this.waits.isEnding,
        over,
      });
    } catch (error) {
      if (!response.headersSent) throw error;
      // The status was sent. A reader whose stream ends reconnects, and then gets the error.
      if (!(error instanceof DomainError)) this.logger.warn(`a stream was ended: ${messageOf(error)}`);
      response.end();
    } finally {
      this.streams.delete(stream);
      if (this.streams.size === 0) {
        clearInterval(this.rechecking);
        this.rechecking = undefined;
      }
      waiter.close();
    }
  }

  /** Ends the streams of readers who lost access. Never rejects. */
  async recheckAll(): Promise<void> {
    await Promise.all(
      [...this.streams].map(async ({ request, end }) => {
        try {
          if (this.waits.isEnding) end();
          await this.access.assertStillAllowed(request, 'events:read');
        } catch (error) {
          if (error instanceof DomainError) end();
          else this.logger.warn(`whether a stream may go on could not be read: ${messageOf(error)}`);
        }
      }),
    );
  }
}
