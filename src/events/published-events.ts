import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Hints } from '../database';

/**
 * Is told that events of these users were published, by whichever replica; `undefined`: perhaps of any user,
 * because hints may have been lost.
 */
export type PublishedListener = (userIds: ReadonlySet<number> | undefined) => void;

/**
 * Hints that events were published. A hint may be lost: whoever waits for events looks for them now and then
 * all the same.
 */
@Injectable()
export class PublishedEvents implements OnModuleDestroy {
  private readonly listeners = new Set<PublishedListener>();
  private readonly hints: Hints;

  constructor(@InjectDataSource() dataSource: DataSource) {
    this.hints = new Hints(
      dataSource,
      'published_events',
      (userIds) => this.tell(new Set(userIds)),
      () => this.tell(undefined),
    );
  }

  onModuleDestroy(): void {
    this.hints.close();
  }

  /** @returns ends it */
  listen(listener: PublishedListener): () => void {
    this.listeners.add(listener);
    this.stayConnected();
    return () => void this.listeners.delete(listener);
  }

  /** Connects again if the connection was lost and somebody listens. */
  stayConnected(): void {
    if (this.listeners.size > 0) this.hints.listen();
  }

  /** Tells all replicas, without waiting for it. */
  announce(userIds: readonly number[]): void {
    this.hints.send([...new Set(userIds)]);
  }

  private tell(userIds: ReadonlySet<number> | undefined): void {
    for (const listener of this.listeners) listener(userIds);
  }
}
