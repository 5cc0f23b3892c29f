import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiValidationErrorResponse } from '../../http';
import { EventSettingsOut, EventSettingsRequest } from './event-settings.dto';

export const ReadEventSettingsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Settings of events',
      description: 'What the user wants to be told of: the threshold of a low balance.',
    }),
    ApiOkResponse({ description: 'The settings', type: EventSettingsOut }),
  );

export const WriteEventSettingsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Set the settings of events',
      description:
        'Replaces all of them. `balance.low` tells when what can be spent falls below the threshold. When ' +
        'it is lower already, nothing is told until it was credited and falls again.',
    }),
    ApiBody({
      type: EventSettingsRequest,
      examples: {
        'A threshold': { value: { balance_low: '500.00' } },
        'No threshold': { value: { balance_low: null } },
      },
    }),
    ApiOkResponse({ description: 'The settings as they are now', type: EventSettingsOut }),
    ApiValidationErrorResponse({
      type: 'decimal_parsing',
      loc: ['body', 'balance_low'],
      msg: 'Input should be a valid decimal',
      input: 'plenty',
    }),
  );
