import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, missing } from '../../http';
import { ProxyFilterBody } from '../filter/proxy-filter.query';
import { PingProxiesRequest, PingProxiesResponse } from './ping-proxies.dto';

const EXAMPLES = {
  filter: { summary: 'All that work now', value: { filter: { active: true } } },
  ids: { summary: 'Two proxies', value: { proxy_ids: ['1', '2'] } },
};

export const PingManyDocs = () =>
  applyDecorators(
    ApiExtraModels(ProxyFilterBody),
    ApiOperation({
      summary: 'Ping many',
      description:
        'Does for up to 1000 proxies what `GET /proxies/{proxy_id}/ping` does for one. It answers within ' +
        '10 seconds, whatever has been reached by then, and stops when the caller disconnects. It counts ' +
        'as one request.',
    }),
    ApiBody({ type: PingProxiesRequest, required: true, examples: EXAMPLES }),
    ApiOkResponse({ description: 'Successful Response', type: PingProxiesResponse }),
    ApiErrorResponse(
      400,
      'The filter matches too many',
      'The filter matches 1234 proxies, and a request takes at most 1000',
    ),
    ApiValidationErrorResponse(missing('body', 'proxy_ids')),
  );
