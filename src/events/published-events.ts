import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { InjectDataSource } from '@nestjs/typeorm';
import type { DataSource } from 'typeorm';
import { Hints } from '../database';

/** Hints from all replicas that events of users were published. */
@Injectable()
export class PublishedEvents extends Hints implements OnModuleDestroy {
  constructor(@InjectDataSource() dataSource: DataSource) {
    super(dataSource, 'published_events');
  }

  onModuleDestroy(): void {
    this.close();
  }
}
