import http from 'node:http';
import { pipeline, Readable } from 'node:stream';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { HttpModule } from '@nestjs/axios';
import { Test } from '@nestjs/testing';
import { eventually } from '../../../test/support/built-service';
import { forAllTests } from '../../../test/support/fixtures';
import { listen } from '../../../test/support/listen';
import { openSilentPort } from '../../../test/support/silent-port';
import { providerHttp } from '../../common';
import { AppConfig } from '../../config';
import { Metrics } from '../../metrics';
import {
  PaymentOutcomeUnknown,
  PaymentRefused,
  PaymentsForbidden,
  PaymentsUnavailable,
} from './payment-provider';
import { UnusableRowReporter } from './unusable-row-reporter';
import { LISTED_AT_ONCE } from './yookassa-responses';
import { YooKassaProvider } from './yookassa.provider';

type Respond = (request: http.IncomingMessage, response: http.ServerResponse) => void;

const MEGABYTE = Buffer.alloc(1024 * 1024, ' ');

describe('The adapter of YooKassa', () => {
  let respond: Respond;
  let provider: YooKassaProvider;
  const server = forAllTests(
    () => http.createServer((request, response) => respond(request, response)),
    (opened) => {
      opened.closeAllConnections();
      opened.close();
    },
  );

  const config = { payments: { provider: 'sandbox', baseUrl: '' }, tuning: { paymentTimeoutMs: 1500 } };

  beforeAll(async () => {
    config.payments.baseUrl = `http://127.0.0.1:${await listen(server)}/v3`;
    const module = await Test.createTestingModule({
      imports: [
        HttpModule.registerAsync({
          useFactory: () => providerHttp({ connectTimeoutMs: 5000, idleMs: 5000 }),
        }),
      ],
      providers: [
        YooKassaProvider,
        UnusableRowReporter,
        { provide: AppConfig, useValue: config },
        { provide: Metrics, useValue: Metrics.disabled },
      ],
    }).compile();
    provider = module.get(YooKassaProvider);
  });

  it.each([
    [{ object: { id: 'payment-1' } }, 'payment-1'],
    [{ object: { id: 'refund-1', payment_id: 'payment-1' } }, 'payment-1'],
    [{ object: { id: '../payments' } }, null],
    [{ object: { id: 1 } }, null],
    [{ object: null }, null],
    [null, null],
  ])("reads the payment's id from the notification %j: %j", (body, id) => {
    expect(provider.notifiedPayment(body)).toBe(id);
  });

  it('knows that nothing was sent if no connection is made', async () => {
    const { baseUrl } = config.payments;
    const gone = http.createServer();
    config.payments.baseUrl = `http://127.0.0.1:${await listen(gone)}/v3`;
    await new Promise((resolve) => gone.close(resolve));
    await expect(provider.refund('key', '{}')).rejects.toThrow(PaymentsUnavailable);
    const silent = await openSilentPort();
    config.payments.baseUrl = `http://127.0.0.1:${silent.port}/v3`;
    await expect(provider.refund('key', '{}')).rejects.toThrow(PaymentsUnavailable);
    await silent.close();
    config.payments.baseUrl = baseUrl;
  });

  it('stops reading a response that does not end', async () => {
    let sent = 0;
    let isClosed = false;
    function* manyMegabytes(): Generator<Buffer> {
      for (; sent < 100; sent += 1) yield MEGABYTE;
    }
    respond = (_, response) => {
      response.writeHead(200);
      pipeline(Readable.from(manyMegabytes()), response, () => (isClosed = true));
    };
    await expect(provider.read('one')).rejects.toThrow(PaymentOutcomeUnknown);
    await eventually(() => isClosed);
    expect(sent).toBeLessThan(20);
  });

  it('ends a call in time, also while the response comes byte by byte', async () => {
    setFlagsFromString('--expose-gc');
    const collectGarbage = runInNewContext('gc') as () => void;
    respond = (_, response) => {
      const drip = setInterval(() => response.write(' '), 20);
      response.once('close', () => clearInterval(drip));
      response.writeHead(200);
    };
    const call = provider.read('one').catch((error: unknown) => error);
    setTimeout(collectGarbage, 500);
    expect(await call).toBeInstanceOf(PaymentOutcomeUnknown);
  });

  it.each([
    ['no refund', 400, PaymentRefused],
    ['no refund yet', 401, PaymentsForbidden],
    ['no refund yet', 403, PaymentsForbidden],
    ['unknown', 408, PaymentOutcomeUnknown],
    ['unknown', 499, PaymentOutcomeUnknown],
    ['unknown', 500, PaymentOutcomeUnknown],
    ['unknown', 400, PaymentOutcomeUnknown, { parameter: 'Idempotence-Key' }],
  ])('reads as %s the status %i', async (_outcome, status, error, body: object = {}) => {
    respond = (_, response) => response.writeHead(status).end(JSON.stringify(body));
    await expect(provider.refund('key', '{}')).rejects.toThrow(error);
  });

  it('reads the rest of a list for which there were too many calls, after the pause', async () => {
    const pages: string[] = [];
    respond = (request, response) => {
      const page = new URL(request.url ?? '', 'http://a').searchParams.get('cursor') ?? 'first';
      pages.push(page);
      if (page === 'rest' && pages.length === 2) response.writeHead(429).end();
      else response.writeHead(200).end(JSON.stringify({ items: [], next_cursor: { first: 'rest' }[page] }));
    };
    for await (const _ of provider.paymentsSince(new Date()));
    expect(pages).toEqual(['first', 'rest', 'rest']);
  });

  it('reads no row of a list that has more than were requested', async () => {
    const items = Array.from({ length: LISTED_AT_ONCE + 1 }, () => ({}));
    respond = (_, response) => response.writeHead(200).end(JSON.stringify({ items }));
    await expect(provider.paymentsSince(new Date()).next()).rejects.toThrow(PaymentOutcomeUnknown);
  });

  it('does not follow a list whose cursors lead in a circle', async () => {
    respond = (request, response) => {
      const isFirst = !request.url?.includes('cursor=a');
      response.writeHead(200).end(JSON.stringify({ items: [], next_cursor: isFirst ? 'a' : 'b' }));
    };
    let pages = 0;
    const readAll = async (): Promise<void> => {
      for await (const _ of provider.paymentsSince(new Date())) if ((pages += 1) > 20) return;
    };
    await expect(readAll()).rejects.toThrow(PaymentOutcomeUnknown);
    expect(pages).toBeLessThan(5);
  });
});
