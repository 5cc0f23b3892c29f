import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Route } from '../../auth';
import { LedgerService } from '../../ledger';
import { EventSettingsOut, EventSettingsRequest } from './event-settings.dto';

@ApiTags('Events')
@Controller('events/settings')
export class EventSettingsController {
  constructor(private readonly ledger: LedgerService) {}

  @Get()
  @Route({
    scope: 'events:read',
    summary: 'Show the event settings',
    description: 'The threshold of `balance.low`.',
    response: { description: 'The settings', type: EventSettingsOut },
  })
  async getEventSettings(@CurrentUserId() userId: number): Promise<EventSettingsOut> {
    return { balance_low: await this.ledger.lowBalanceOf(userId) };
  }

  @Put()
  @Route({
    scope: 'events:write',
    summary: 'Set the event settings',
    description:
      'Replaces all settings. `balance.low` is sent when the available balance falls below the ' +
      'threshold, and is not sent again until the balance has been above the threshold.',
    response: { description: 'The updated settings', type: EventSettingsOut },
    body: {
      type: EventSettingsRequest,
      examples: {
        'A threshold': { value: { balance_low: '500.00' } },
        'No threshold': { value: { balance_low: null } },
      },
    },
  })
  async setEventSettings(
    @CurrentUserId() userId: number,
    @Body() { balance_low: balanceLow }: EventSettingsRequest,
  ): Promise<EventSettingsOut> {
    return { balance_low: await this.ledger.setLowBalance(userId, balanceLow) };
  }
}
