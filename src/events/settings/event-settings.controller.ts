import { Body, Controller, Get, Put } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../../auth';
import { ReadEventSettingsDocs, WriteEventSettingsDocs } from './event-settings.docs';
import { type EventSettingsOut, EventSettingsRequest } from './event-settings.dto';
import { EventSettingsService } from './event-settings.service';

@ApiTags('Events')
@Controller('events/settings')
export class EventSettingsController {
  constructor(private readonly settings: EventSettingsService) {}

  @Get()
  @Scopes('events:read')
  @ReadEventSettingsDocs()
  getEventSettings(@CurrentUserId() userId: number): Promise<EventSettingsOut> {
    return this.settings.read(userId);
  }

  @Put()
  @Scopes('events:write')
  @WriteEventSettingsDocs()
  setEventSettings(
    @CurrentUserId() userId: number,
    @Body() body: EventSettingsRequest,
  ): Promise<EventSettingsOut> {
    return this.settings.write(userId, body.balance_low);
  }
}
