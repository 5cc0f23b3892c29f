import { Injectable } from '@nestjs/common';
import type { Money } from '../../common';
import { LedgerService } from '../../ledger';
import type { EventSettingsOut } from './event-settings.dto';

@Injectable()
export class EventSettingsService {
  constructor(private readonly ledger: LedgerService) {}

  async read(userId: number): Promise<EventSettingsOut> {
    return { balance_low: await this.ledger.lowBalanceOf(userId) };
  }

  /** @param balanceLow null for no events of a low balance */
  async write(userId: number, balanceLow: Money | null): Promise<EventSettingsOut> {
    return { balance_low: await this.ledger.setLowBalance(userId, balanceLow) };
  }
}
