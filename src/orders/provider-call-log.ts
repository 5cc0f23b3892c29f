import { Injectable, Logger } from '@nestjs/common';
import { InjectRepository } from '@nestjs/typeorm';
import { Repository } from 'typeorm';
import { messageOf } from '../common';
import type { ProviderCallRecord } from '../provider';
import { ProviderCall } from './provider-call.entity';

/** Stores the calls to the provider that were made for an order, so that staff can see what happened. */
@Injectable()
export class ProviderCallLog {
  private readonly logger = new Logger(ProviderCallLog.name);

  constructor(@InjectRepository(ProviderCall) private readonly calls: Repository<ProviderCall>) {}

  /**
   * Makes a call and stores its record under an order. The outcome of the call is passed on unchanged, also
   * when the record cannot be stored.
   */
  async record<Answer>(
    orderId: number,
    call: (onCall: (record: ProviderCallRecord) => void) => Promise<Answer>,
  ): Promise<Answer> {
    const records: ProviderCallRecord[] = [];
    try {
      return await call((record) => records.push(record));
    } finally {
      await this.store(orderId, records);
    }
  }

  private async store(orderId: number, records: readonly ProviderCallRecord[]): Promise<void> {
    try {
      await this.calls.insert(
        records.map((record) => ({ orderId, ...record, answer: record.answer as object })),
      );
    } catch (error) {
      this.logger.error(`order ${orderId}: a record of a provider call was not kept: ${messageOf(error)}`);
    }
  }
}
