import { applyDecorators } from '@nestjs/common';
import {
  ApiExtraModels,
  ApiHeader,
  ApiOkResponse,
  ApiOperation,
  ApiParam,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse } from '../http';
import { PingResponse } from './dto/ping-response.dto';
import { ProxyOut } from './dto/proxy-out.dto';
import type { FormatName } from './export/formats';
import { PROXYCHAINS_START } from './export/proxychains';
import { LOOKED_AT, MAX_PAGE } from './proxy-pages.service';

const LIST_SCHEMA = { type: 'array', items: { $ref: getSchemaPath(ProxyOut) } };

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

/** What the examples show: a proxy of each type. */
const EXAMPLES = {
  txt: '185.22.134.250:7330:5svBNZ:iagn2d\n185.22.134.250:7331:Kd82hs:pQ1x9w\n',
  url: 'http://5svBNZ:iagn2d@185.22.134.250:7330\nsocks5h://Kd82hs:pQ1x9w@185.22.134.250:7331\n',
  csv:
    'id,host,port,login,password,proxy_type,country,version,date_start,date_end,active,descr\r\n' +
    '17,185.22.134.250,7330,5svBNZ,iagn2d,http,ru,6,2026-11-01T12:00:00Z,2026-12-01T12:00:00Z,true,\r\n',
  curl:
    '# curl --config curl.conf https://example.com/\n' +
    '# The first proxy is used; the others are comments.\n' +
    'proxy = "http://5svBNZ:iagn2d@185.22.134.250:7330"\n' +
    '# proxy = "socks5h://Kd82hs:pQ1x9w@185.22.134.250:7331"\n',
  proxychains:
    `${PROXYCHAINS_START}http 185.22.134.250 7330 5svBNZ iagn2d\n` +
    'socks5 185.22.134.250 7331 Kd82hs pQ1x9w\n',
  playwright: [
    { server: 'http://185.22.134.250:7330', username: '5svBNZ', password: 'iagn2d' },
    { server: 'socks5://185.22.134.250:7331', username: 'Kd82hs', password: 'pQ1x9w' },
  ],
  clash:
    'proxies:\n  - {"name":"ru-17","type":"http","server":"185.22.134.250","port":7330,' +
    '"username":"5svBNZ","password":"iagn2d"}\n',
  'sing-box': {
    outbounds: [
      {
        type: 'socks',
        tag: 'ru-18',
        server: '185.22.134.250',
        server_port: 7331,
        version: '5',
        username: 'Kd82hs',
        password: 'pQ1x9w',
      },
    ],
  },
} satisfies Partial<Record<FormatName, unknown>>;

const examples = (...names: readonly (keyof typeof EXAMPLES)[]) =>
  Object.fromEntries(names.map((name) => [name, { summary: `format=${name}`, value: EXAMPLES[name] }]));

const PLAYWRIGHT_SCHEMA = {
  type: 'array',
  items: {
    type: 'object',
    required: ['server', 'username', 'password'],
    properties: {
      server: { type: 'string' },
      username: { type: 'string' },
      password: { type: 'string' },
    },
  },
};
const SING_BOX_SCHEMA = {
  type: 'object',
  required: ['outbounds'],
  properties: { outbounds: { type: 'array', items: { type: 'object' } } },
};

/** The answer with an export in any format. */
export const ApiExportAnswer = () =>
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
      content: {
        'application/json': {
          schema: { anyOf: [LIST_SCHEMA, PLAYWRIGHT_SCHEMA, SING_BOX_SCHEMA] },
          examples: examples('playwright', 'sing-box'),
        },
        'text/plain': {
          schema: { type: 'string' },
          examples: examples('txt', 'url', 'curl', 'proxychains'),
        },
        'text/csv': { schema: { type: 'string' }, examples: examples('csv') },
        'application/yaml': { schema: { type: 'string' }, examples: examples('clash') },
      },
    }),
  );

export const ExportDocs = () =>
  applyDecorators(
    ApiOperation({
      operationId: 'export_proxies_export_get',
      summary: 'Export',
      description: `The user's proxies as a file, in one of these formats. \`socks\` is SOCKS5.

- \`json\`: the same fields as \`GET /proxies\`
- \`txt\`: a line \`host:port:login:password\` for each proxy
- \`url\`: a line \`http://login:password@host:port\` for each proxy, \`socks5h://\` for SOCKS5; login and
  password are percent-encoded
- \`csv\`: the fields of \`json\`, with their names in the first line. A cell that a spreadsheet would take
  for a formula begins with an apostrophe. It is not combined with \`active_only\`
- \`curl\`: a file for \`curl --config\`. The first proxy is used; the others are comments
- \`proxychains\`: a configuration file of proxychains4, which uses one of the proxies for each connection.
  Proxies whose \`host\` is a name, or whose login or password has a space, are comments: proxychains cannot
  read them. It reads the first 512 proxies
- \`playwright\`: an array of what Playwright takes as \`proxy\`. Chromium cannot log in at a SOCKS5 proxy:
  use HTTP proxies there
- \`clash\`: YAML with a list \`proxies\`, for Clash and mihomo
- \`sing-box\`: JSON with a list \`outbounds\`

With \`template\` instead of \`format\`, there is a line for each proxy, written as the template says.`,
    }),
    ApiExportAnswer(),
    ApiValidationErrorResponse({
      type: 'value_error',
      loc: ['query', 'template'],
      msg: 'Value error, unbalanced brace; a brace that is no placeholder is doubled',
      input: '{host:{port}',
      ctx: { error: 'unbalanced brace; a brace that is no placeholder is doubled' },
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
