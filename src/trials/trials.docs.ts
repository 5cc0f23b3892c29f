import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, LIMIT_TOO_LARGE } from '../http';
import { TrialOut, TrialsPage } from './dto/trial-out.dto';

const ApiProxyId = () =>
  ApiParam({
    name: 'proxy_id',
    description: 'The `id` of a proxy of the user; any other text is answered with 404',
    schema: { type: 'string', title: 'Proxy Id', example: '1' },
  });

export const TrialDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Check',
      description:
        'Makes a request through the proxy to the judge, a route of this service, and tells whether it ' +
        'came through, by which address, and how fast; at most 10 seconds later. ' +
        '`GET /proxies/{proxy_id}/ping` tells only whether the port of the proxy can be reached.',
    }),
    ApiProxyId(),
    ApiOkResponse({ description: 'What the check showed', type: TrialOut }),
    ApiErrorResponse(
      404,
      'No proxy of the user has this id, or the operator has switched checks off',
      'Proxy not found',
      'Checks of proxies are switched off',
    ),
    ApiErrorResponse(
      429,
      'More requests than the token or the user may make in a minute, or more than 10 checks at once',
      'Too many requests',
      'Too many requests of this kind are under way',
    ),
  );

export const TrialsDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Checks of a proxy',
      description: 'What the checks of a proxy showed, the latest first, as long as they are kept.',
    }),
    ApiProxyId(),
    ApiOkResponse({ description: 'A page of checks', type: TrialsPage }),
    ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found'),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );
