import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiOkResponse, ApiOperation, ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, LIMIT_TOO_LARGE } from '../../http';
import { MAX_LABEL_LENGTH } from '../filter/labels';
import { LabelProxiesRequest, LabelProxiesResponse, LabelProxyRequest } from '../labels/labels.dto';
import { ProxyDetails } from './proxy-details.dto';
import { ProxyHistoryPage } from './proxy-history.dto';

const ApiProxyId = () =>
  applyDecorators(
    ApiParam({
      name: 'proxy_id',
      description: 'The `id` of a proxy of the user; any other text is answered with 404',
      schema: { type: 'string', title: 'Proxy Id', example: '1' },
    }),
    ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found'),
  );

const LABEL_TOO_LONG = {
  type: 'string_too_long',
  loc: ['body', 'descr'],
  msg: `String should have at most ${MAX_LABEL_LENGTH} characters`,
  input: 'a very long label …',
  ctx: { max_length: MAX_LABEL_LENGTH },
};

const LimitedTokenDocs = () =>
  ApiErrorResponse(
    403,
    'The token has a daily limit, and the label or the tags decide by which rule a proxy is renewed',
    'A token with a daily limit cannot change by which rule a proxy is renewed; nothing was changed',
  );

export const DetailsDocs = () =>
  applyDecorators(
    ApiOperation({ summary: 'One proxy', description: 'A proxy of the user, with its tags and its order.' }),
    ApiProxyId(),
    ApiOkResponse({ type: ProxyDetails }),
  );

export const LabelDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Label a proxy',
      description:
        'Sets your own label, `descr`, and your own tags. They are for you alone: the provider is never ' +
        'told of them. What is left out stays as it is. Lists and exports show `descr`, and can be ' +
        'filtered by both, and rules of renewals go by them.',
    }),
    ApiProxyId(),
    ApiBody({
      type: LabelProxyRequest,
      examples: {
        'A label and tags': { value: { descr: 'scraper 1', tags: ['team-a'] } },
        'No label': { value: { descr: null } },
      },
    }),
    ApiOkResponse({ type: ProxyDetails }),
    LimitedTokenDocs(),
    ApiValidationErrorResponse(LABEL_TOO_LONG),
  );

export const LabelManyDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Label many proxies',
      description:
        'Sets the label or the tags of up to 1,000 proxies, named by their ids or by a filter: all of ' +
        'them, or, after an error, none. Repeating the request changes nothing more.',
    }),
    ApiBody({
      type: LabelProxiesRequest,
      examples: {
        'Some proxies': { value: { proxy_ids: ['1'], add_tags: ['team-a'] } },
        'All of an order': { value: { filter: { order_id: 42 }, descr: 'scrapers' } },
      },
    }),
    ApiOkResponse({ type: LabelProxiesResponse }),
    ApiErrorResponse(
      400,
      'Too many proxies match, or a proxy would have too many tags',
      'The filter matches 1200 proxies, and a request takes at most 1000',
      'A proxy has at most 20 tags; nothing was changed',
    ),
    LimitedTokenDocs(),
    ApiValidationErrorResponse(LABEL_TOO_LONG),
  );

export const HistoryDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'History of a proxy',
      description: `What happened to a proxy, newest first: when it was bought and prolonged, by which orders
and at what price, and what the provider changed. What happened before the service kept notes is told as far
as the orders tell it.`,
    }),
    ApiProxyId(),
    ApiOkResponse({ type: ProxyHistoryPage }),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );
