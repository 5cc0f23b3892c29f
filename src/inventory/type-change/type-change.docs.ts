import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../../http';
import { ProxyOut } from '../../proxies';
import { TypeChangeRequest } from './type-change.request';

export const TypeChangeDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Change the type',
      description:
        'Changes a running proxy between HTTP and SOCKS5, free of charge. The answer is the proxy as it is ' +
        'then: its port, and even its host, may be others. Repeating the request is safe; after 409 with ' +
        '`Retry-After`, 503 and lost connections, repeat it until the answer is 200 or another 4xx.',
    }),
    ApiParam({
      name: 'proxy_id',
      description: 'The `id` of a proxy of the user; any other text is answered with 404',
      schema: { type: 'string', title: 'Proxy Id', example: '1' },
    }),
    ApiBody({
      type: TypeChangeRequest,
      required: true,
      examples: { socks: { summary: 'SOCKS5', value: { proxy_type: 'socks' } } },
    }),
    ApiOkResponse({ description: 'The proxy has this type', type: ProxyOut }),
    ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found'),
    ApiErrorResponse(
      409,
      'The type cannot be changed, or, with `Retry-After`, another change of it is under way',
      'The type of this proxy is being changed',
      'The rental of this proxy has ended',
      'The provider has withdrawn this proxy',
      'The provider no longer has this proxy',
      'The provider does not change the type of this proxy',
    ),
    ApiValidationErrorResponse({
      type: 'string_pattern_mismatch',
      loc: ['body', 'proxy_type'],
      msg: "String should match pattern '^(http|socks)$'",
      input: 'ftp',
      ctx: { pattern: '^(http|socks)$' },
    }),
    ApiErrorResponse(
      503,
      'The provider cannot be asked and nothing was changed, or the outcome is not known yet',
      'Service temporarily unavailable',
      'Service temporarily unavailable: whether the type has changed is not known yet',
      'Service temporarily unavailable: types cannot be changed at present',
    ),
  );
