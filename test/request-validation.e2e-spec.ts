import { request } from 'node:http';
import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { Test } from '@nestjs/testing';
import { PriceQuery } from '../src/catalog/dto/price.query';
import { VersionQuery } from '../src/catalog/dto/version.query';
import { configureHttp, RequestInputGuard } from '../src/http';
import { ProlongRequest } from '../src/orders/placing/dto/prolong-request.dto';
import { PurchaseRequest } from '../src/orders/placing/dto/purchase-request.dto';
import { ExportProxiesQuery } from '../src/proxies/export/export-proxies.query';

/** The validated endpoints without their services: each answers what it received. */
@Controller()
class EchoController {
  @Get('countries')
  countries(@Query() query: VersionQuery): object {
    return query;
  }

  @Get('countries/:country/count')
  count(@Query() query: VersionQuery): object {
    return query;
  }

  @Get('price')
  price(@Query() query: PriceQuery): object {
    return query;
  }

  @Get('proxies/export')
  export(@Query() query: ExportProxiesQuery): object {
    return query;
  }

  @Post('proxies/buy')
  @HttpCode(200)
  buy(@Body() body: PurchaseRequest): object {
    return body;
  }

  @Post('proxies/:proxy_id/prolong')
  @HttpCode(200)
  prolong(@Body() body: ProlongRequest): object {
    return body;
  }
}

interface RecordedRequest {
  readonly method: string;
  readonly path: string;
  readonly body?: string;
  readonly content_type?: string;
}

interface Answer {
  readonly status: number | undefined;
  readonly body: unknown;
}

let app: NestExpressApplication;
let port: string;

beforeAll(async () => {
  const moduleRef = await Test.createTestingModule({ controllers: [EchoController] }).compile();
  app = moduleRef.createNestApplication<NestExpressApplication>({ bodyParser: false, logger: false });
  configureHttp(app, { maxConnections: 100, readerIdleMs: 10_000, trustedProxies: [] });
  app.useGlobalGuards(new RequestInputGuard());
  await app.listen(0, '127.0.0.1');
  port = new URL(await app.getUrl()).port;
});

afterAll(async () => {
  await app.close();
});

/** Needed because fetch would set a content type of its own. */
function send({ method, path, body, content_type: contentType }: RecordedRequest): Promise<Answer> {
  const headers = contentType ? { 'Content-Type': contentType } : {};
  return new Promise((resolve, reject) => {
    const call = request({ host: '127.0.0.1', port, method, path, headers }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part: string) => (text += part));
      response.on('end', () => resolve({ status: response.statusCode, body: JSON.parse(text) as unknown }));
    });
    call.on('error', reject).end(body);
  });
}

describe('A valid request', () => {
  /** A purchase without the fields that the specification does not have. */
  const UNGUARDED = { max_price: null, dry_run: false, allow_partial: true };

  const FILTER = {
    country: null,
    version: null,
    active: null,
    label: null,
    tag: null,
    ends_before: null,
    order_id: null,
  };
  const purchase = { method: 'POST', path: '/proxies/buy' };

  it.each<[RecordedRequest, object]>([
    [{ method: 'GET', path: '/countries' }, { version: '6' }],
    [
      { method: 'GET', path: '/price?count=+5+&period=3.0&version=6&version=4s' },
      { count: 5, period: 3, version: '4s' },
    ],
    [
      { method: 'GET', path: `/price?count=1&period=${'9'.repeat(30)}` },
      { count: 1, period: Number.MAX_SAFE_INTEGER, version: '6' },
    ],
    [
      { method: 'GET', path: '/proxies/export' },
      { ...FILTER, format: 'json', proxy_type: null, active_only: false },
    ],
    [
      { method: 'GET', path: '/proxies/export?active_only=On&proxy_type=all&format=txt' },
      { ...FILTER, format: 'txt', proxy_type: 'all', active_only: true },
    ],
    [
      { ...purchase, body: '{"country": "RU", "period": true, "extra": {"constructor": 1}}' },
      { ...UNGUARDED, country: 'RU', period: 1, count: 1, version: '6', proxy_type: 'http' },
    ],
    [
      {
        ...purchase,
        body: '{"country": "\\u0000\\u0000", "period": 3, "proxy_type": "ftp"}',
        content_type: 'a/b+json',
      },
      { detail: [expect.objectContaining({ type: 'model_attributes_type' })] },
    ],
  ])('is read from %j', async (recorded, value) => {
    expect((await send(recorded)).body).toEqual(value);
  });
});
