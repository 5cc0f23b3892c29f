import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiResponse,
  type ApiResponseNoStatusOptions,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../http';
import { PingResponse } from './dto/ping-response.dto';
import { ProxyOut } from './dto/proxy-out.dto';
import { LOOKED_AT, MAX_PAGE } from './proxy-pages.service';

export const LIST_SCHEMA = { type: 'array', items: { $ref: getSchemaPath(ProxyOut) } };

const ETAG_HEADER = {
  ETag: {
    description: 'Identifies this state of the list. It changes when a proxy changes and when a rental ends.',
    schema: { type: 'string' as const, example: 'W/"8Qm3vYHn0kD2sWqTz1xJcA"' },
  },
};

/** The answer is not sent again to a client that has it already. */
const ApiConditional = () =>
  applyDecorators(
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description: 'The `ETag` of an earlier answer. While it is current, the answer is 304 without a body.',
      schema: { type: 'string' },
    }),
    ApiResponse({ status: 304, description: 'The list has not changed since the answer with this `ETag`' }),
  );

export const ListDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'proxies_proxies_get',
      summary: 'Proxies',
      description: `All proxies of the user, ordered by id, or those that the parameters select.

With \`limit\` or \`cursor\` the answer is a page, and its \`Link\` header has the address of the next
one; the last page has none. In a list of more than ${LOOKED_AT} proxies a page with a filter can have less
than \`limit\`, or none, and there is a next page all the same. A proxy that is delivered while the pages are
read is in them or not.`,
    }),
    ApiExtraModels(ProxyOut),
    ApiConditional(),
    ApiOkResponse({
      description: 'Successful Response',
      headers: {
        ...ETAG_HEADER,
        Link: {
          description: 'Only on pages: the address of the next page (RFC 8288)',
          schema: { type: 'string', example: '</proxies?country=ru&limit=100&cursor=117>; rel="next"' },
        },
      },
      schema: { ...LIST_SCHEMA, title: 'Response Proxies Proxies Get' },
    }),
    ApiValidationErrorResponse({
      type: 'less_than_equal',
      loc: ['query', 'limit'],
      msg: `Input should be less than or equal to ${MAX_PAGE}`,
      input: '5000',
      ctx: { le: MAX_PAGE },
    }),
  );

export const TXT_EXAMPLE = '185.22.134.250:7330:5svBNZ:iagn2d\n185.22.134.250:7331:Kd82hs:pQ1x9w\n';

/**
 * The response with an export.
 *
 * @param content its media types
 */
export const ApiFileAnswer = (content: NonNullable<ApiResponseNoStatusOptions['content']>) =>
  applyDecorators(
    ApiExtraModels(ProxyOut),
    ApiConditional(),
    ApiOkResponse({
      description: 'Successful Response',
      headers: {
        ...ETAG_HEADER,
        'Content-Disposition': {
          description: 'The name of the file',
          schema: { type: 'string', example: 'attachment; filename="proxies.json"' },
        },
      },
      content,
    }),
  );

export const ExportDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'export_proxies_export_get',
      summary: 'Export',
      description:
        "The user's proxies as a file: the same objects as `GET /proxies`, or a line " +
        '`host:port:login:password` for each. `GET /proxies/lists/…` has other formats, each at a path of ' +
        'its own.',
    }),
    ApiFileAnswer({
      'application/json': { schema: LIST_SCHEMA },
      'text/plain': { schema: { type: 'string' }, example: TXT_EXAMPLE },
    }),
    ApiValidationErrorResponse({
      type: 'string_pattern_mismatch',
      loc: ['query', 'format'],
      msg: "String should match pattern '^(json|txt)$'",
      input: 'csv',
      ctx: { pattern: '^(json|txt)$' },
    }),
  );

export const PingDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'ping_proxies__proxy_id__ping_get',
      summary: 'Ping',
      description: 'Tests a TCP connection from the service to the host and port of the proxy.',
    }),
    ApiParam({
      name: 'proxy_id',
      description: 'The `id` of a proxy of the user; any other text is answered with 404',
      schema: { type: 'string', title: 'Proxy Id', example: '1' },
    }),
    ApiOkResponse({ description: 'Successful Response', type: PingResponse }),
    ApiErrorResponse(404, 'No proxy of the user has this id', 'Proxy not found'),
    ApiValidationErrorResponse({
      type: 'string_type',
      loc: ['path', 'proxy_id'],
      msg: 'Input should be a valid string',
      input: null,
    }),
  );
