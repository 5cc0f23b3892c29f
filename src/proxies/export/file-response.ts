import { applyDecorators } from '@nestjs/common';
import { ApiHeader, ApiResponse, type ApiResponseNoStatusOptions, getSchemaPath } from '@nestjs/swagger';
import { ProxyOut } from '../dto/proxy-out.dto';

export const LIST_SCHEMA = { type: 'array', items: { $ref: getSchemaPath(ProxyOut) } };

export const ETAG_HEADER = {
  ETag: {
    description: 'Identifies this state of the list. It changes when a proxy changes and when a rental ends.',
    schema: { type: 'string' as const, example: 'W/"8Qm3vYHn0kD2sWqTz1xJcA"' },
  },
};

export const ApiNotModified = () =>
  applyDecorators(
    ApiHeader({
      name: 'If-None-Match',
      required: false,
      description:
        'The `ETag` of an earlier response. While it is current, the response is 304 without a body.',
      schema: { type: 'string' },
    }),
    ApiResponse({ status: 304, description: 'The list has not changed since the response with this `ETag`' }),
  );

export const TXT_EXAMPLE = '185.22.134.250:7330:5svBNZ:iagn2d\n185.22.134.250:7331:Kd82hs:pQ1x9w\n';

export const fileResponse = (content: NonNullable<ApiResponseNoStatusOptions['content']>) => ({
  description: 'Successful Response',
  headers: {
    ...ETAG_HEADER,
    'Content-Disposition': {
      description: 'The name of the file',
      schema: { type: 'string' as const, example: 'attachment; filename="proxies.json"' },
    },
  },
  content,
});
