import { setTimeout as pause } from 'node:timers/promises';
import { HttpService } from '@nestjs/axios';
import { Injectable, Logger } from '@nestjs/common';
import { z } from 'zod';
import { jsonOrUndefined, type Moment, RecordingTransport, SystemClock } from '../../common';
import { AppConfig, type CashRegister } from '../../config';
import { atMostEachMinute } from '../../http';
import { Metrics } from '../../metrics';
import { annotateSpan, inSpan } from '../../tracing';
import {
  type ProviderPage,
  type NewPayment,
  type NewRefund,
  type PaidAmount,
  PaymentOutcomeUnknown,
  PaymentProvider,
  PaymentRefused,
  PaymentsForbidden,
  PaymentsUnavailable,
  type ProviderPayment,
  type ProviderRefund,
} from './payment-provider';
import { UnusableRowReporter } from './unusable-row-reporter';
import { partialReceipt, type Receipt, receiptOf } from './yookassa-receipts';
import {
  errorResponse,
  LISTED_AT_ONCE,
  listOf,
  paymentResponse,
  reasonOf,
  refundResponse,
  toMetadata,
} from './yookassa-responses';

/** Customers wait at most this long for a payment's URL. */
const TIMEOUT_MS = 15_000;
/** How long all calls pause after a 429. */
const PAUSE_MS = 2000;
const TIME_COUNTS_FOR_MS = 60_000;
/**
 * HTTP statuses documented as refusals. After any other error, the outcome is unknown: the response may come
 * from a gateway that had already forwarded the request.
 */
const REFUSALS: readonly number[] = [400, 404];
const OF_THE_OPERATOR: readonly number[] = [401, 403];
/** Receipt settings for shops that have not configured their cash register. */
const ADVANCE: CashRegister = { mode: 'advance', subject: 'payment' };
/** Retries keep a single 429 from cutting a long list short. */
const PAGE_ATTEMPTS = 5;

const METHODS = ['create', 'read', 'list', 'refund', 'refunds'] as const;

type Method = (typeof METHODS)[number];

interface Call<Schema extends z.ZodType> {
  readonly method: Method;
  readonly path: string;
  readonly schema: Schema;
  /** Absent if the call only reads. */
  readonly post?: { readonly key: string; readonly body: string };
}

const PAYMENT_ID = /^[\w-]{1,64}$/;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** Decision 69 lists the sources of what this class assumes about YooKassa's API v3. */
@Injectable()
export class YooKassaProvider extends PaymentProvider {
  readonly name: string;
  readonly isForTests: boolean;
  private readonly authorization: string;
  private readonly logger = new Logger('Payments');
  private readonly warn = atMostEachMinute((message) => this.logger.error(message));
  private pausedUntilMs = -Infinity;
  private readonly clock = new SystemClock();
  /** `Date` header of the last response. */
  private dated: { readonly date: Date; readonly arrived: Moment } | undefined;

  constructor(
    private readonly http: HttpService,
    private readonly config: AppConfig,
    private readonly metrics: Metrics,
    private readonly unusable: UnusableRowReporter,
  ) {
    super();
    const { provider, shopId = '', secretKey = '', receipt, register } = config.payments;
    this.name = provider;
    this.isForTests = secretKey.startsWith('test_');
    this.authorization = `Basic ${Buffer.from(`${shopId}:${secretKey}`).toString('base64')}`;
    if (receipt && !register) {
      this.logger.log('YOOKASSA_REGISTER is not set: receipts use the default, advance:payment');
    }
    // Start the counters at zero, because Prometheus would otherwise miss the first increment.
    for (const method of METHODS) metrics.count('payment_calls_total', { method, outcome: 'forbidden' }, 0);
  }

  time(): Date | null {
    return this.dated && this.dated.arrived.elapsedMs() < TIME_COUNTS_FOR_MS ? this.dated.date : null;
  }

  paymentRequest({ amount: value, returnUrl, receiptEmail, ...mark }: NewPayment): string {
    const amount = { value, currency: 'RUB' };
    return JSON.stringify({
      amount,
      capture: true,
      confirmation: { type: 'redirect', return_url: returnUrl },
      description: `Deposit ${mark.depositId}`,
      metadata: toMetadata(mark),
      receipt: this.receipt(amount, receiptEmail),
    });
  }

  create(key: string, body: string): Promise<ProviderPayment> {
    return this.call({ method: 'create', path: 'payments', schema: paymentResponse, post: { key, body } });
  }

  /** A notification about a refund contains the id of its payment. */
  notifiedPayment(body: unknown): string | null {
    const object = isObject(body) ? body['object'] : undefined;
    if (!isObject(object)) return null;
    const id = object['payment_id'] ?? object['id'];
    return typeof id === 'string' && PAYMENT_ID.test(id) ? id : null;
  }

  read(paymentId: string): Promise<ProviderPayment | null> {
    const path = `payments/${encodeURIComponent(paymentId)}`;
    return this.call({ method: 'read', path, schema: paymentResponse }).catch((error: unknown) => {
      if (error instanceof PaymentRefused && error.status === 404) return null;
      throw error;
    });
  }

  async *paymentsSince(
    moment: Date,
    by: 'created_at' | 'captured_at' = 'created_at',
  ): AsyncGenerator<ProviderPage<ProviderPayment>> {
    yield* this.list('list', 'payments', { [`${by}.gte`]: moment.toISOString() }, paymentResponse);
  }

  refundRequest({ refundId, refundKey, paymentId, paymentRequest, ...of }: NewRefund): string {
    const amount = { value: of.amount, currency: 'RUB' };
    const { receipt } =
      paymentRequest === null
        ? { receipt: this.receipt(amount, null) }
        : (JSON.parse(paymentRequest) as { readonly receipt?: Receipt });
    return JSON.stringify({
      payment_id: paymentId,
      amount,
      description: `Refund ${refundId}`,
      metadata: { refund_key: refundKey },
      // For a full refund, the provider reuses the payment's receipt.
      ...(of.amount !== of.paidAmount && receipt && { receipt: partialReceipt(receipt, amount) }),
    });
  }

  refund(key: string, body: string): Promise<ProviderRefund> {
    return this.call({ method: 'refund', path: 'refunds', schema: refundResponse, post: { key, body } });
  }

  async *refundsSince(moment: Date): AsyncGenerator<ProviderPage<ProviderRefund>> {
    yield* this.list('refunds', 'refunds', { 'created_at.gte': moment.toISOString() }, refundResponse);
  }

  async *refundsOf(paymentId: string): AsyncGenerator<ProviderPage<ProviderRefund>> {
    yield* this.list('refunds', 'refunds', { payment_id: paymentId }, refundResponse);
  }

  private receipt(amount: PaidAmount, email: string | null): Receipt | undefined {
    const { receipt, receiptItem, register = ADVANCE } = this.config.payments;
    return receipt && receiptOf(email ?? receipt.email, amount, receiptItem, receipt.vatCode, register);
  }

  private async *list<Item extends z.ZodType>(
    method: Method,
    resource: string,
    filter: Readonly<Record<string, string>>,
    item: Item,
  ): AsyncGenerator<ProviderPage<z.output<Item>>> {
    const followed = new Set<string>();
    let cursor: string | undefined;
    for (;;) {
      const query = new URLSearchParams({
        ...filter,
        limit: String(LISTED_AT_ONCE),
        ...(cursor !== undefined && { cursor }),
      });
      const path = `${resource}?${query.toString()}`;
      const page = await this.page({ method, path, schema: listOf(item) });
      for (const { row, fields } of page.odd) this.unusable.report(resource, row, fields.join(', '));
      yield { rows: page.rows, unreadable: page.odd.length };
      cursor = page.next_cursor ?? undefined;
      if (cursor === undefined) return;
      // A repeated cursor would make the list endless.
      if (followed.has(cursor)) throw new PaymentOutcomeUnknown(`${method} returned a cursor twice`);
      followed.add(cursor);
    }
  }

  private async page<Schema extends z.ZodType>(call: Call<Schema>): Promise<z.output<Schema>> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.call(call);
      } catch (error) {
        if (!(error instanceof PaymentsUnavailable) || error instanceof PaymentsForbidden) throw error;
        if (attempt === PAGE_ATTEMPTS) throw error;
        await pause(PAUSE_MS);
      }
    }
  }

  private call<Schema extends z.ZodType>(call: Call<Schema>): Promise<z.output<Schema>> {
    const { method } = call;
    return inSpan(`payments.${method}`, { 'payments.method': method }, async () => {
      const beganMs = performance.now();
      const report = (outcome: 'done' | 'refused' | 'forbidden' | 'unavailable' | 'unknown'): void => {
        this.metrics.count('payment_calls_total', { method, outcome });
        this.metrics.observe(
          'payment_call_duration_seconds',
          { method },
          (performance.now() - beganMs) / 1000,
        );
        annotateSpan({ 'payments.outcome': outcome });
      };
      try {
        const response = await this.send(call);
        report('done');
        return response;
      } catch (error) {
        if (error instanceof PaymentRefused) report('refused');
        else if (error instanceof PaymentsForbidden) report('forbidden');
        else report(error instanceof PaymentsUnavailable ? 'unavailable' : 'unknown');
        throw error;
      }
    });
  }

  private async send<Schema extends z.ZodType>({
    method,
    path,
    schema,
    post,
  }: Call<Schema>): Promise<z.output<Schema>> {
    if (performance.now() < this.pausedUntilMs) {
      throw new PaymentsUnavailable(`${method} was not sent: too many calls to the provider`);
    }
    const { status, json } = await this.exchange(method, path, post);
    if (status === 429) {
      this.pausedUntilMs = performance.now() + PAUSE_MS;
      throw new PaymentsUnavailable(`${method} returned 429`);
    }
    const reason = errorResponse.safeParse(json).data;
    // An earlier request with this key may have been executed, so the outcome is unknown.
    if (reason?.parameter === 'Idempotence-Key') {
      throw new PaymentOutcomeUnknown(`${method} returned ${status}: its key was used by another request`);
    }
    const why = this.withoutKey(reasonOf(reason)) || String(status);
    if (OF_THE_OPERATOR.includes(status)) {
      this.warn(`the payment provider rejects the shop or its key (${status}): check YOOKASSA_SECRET_KEY`);
      throw new PaymentsForbidden(method, status, why);
    }
    if (REFUSALS.includes(status)) throw new PaymentRefused(method, status, why);
    const read = status === 200 ? schema.safeParse(json) : undefined;
    if (read?.success !== true) {
      throw new PaymentOutcomeUnknown(`${method} returned ${status} without a result`);
    }
    return read.data;
  }

  private withoutKey(text: string): string {
    const { secretKey } = this.config.payments;
    return secretKey === undefined ? text : text.replaceAll(secretKey, '[key]');
  }

  private async exchange(
    method: Method,
    path: string,
    post: Call<z.ZodType>['post'],
  ): Promise<{ readonly status: number; readonly json: unknown }> {
    const transport = new RecordingTransport();
    try {
      const response = await this.http.axiosRef.request<string>({
        url: `${this.config.payments.baseUrl}/${path}`,
        method: post ? 'POST' : 'GET',
        headers: {
          Authorization: this.authorization,
          ...(post && { 'Content-Type': 'application/json', 'Idempotence-Key': post.key }),
        },
        data: post?.body,
        transport,
        signal: AbortSignal.timeout(this.config.tuning.paymentTimeoutMs ?? TIMEOUT_MS),
      });
      const date = new Date(String(response.headers['date']));
      if (!Number.isNaN(date.getTime())) this.dated = { date, arrived: this.clock.moment() };
      return { status: response.status, json: jsonOrUndefined(response.data) };
    } catch (error) {
      // The error contains the URL and the secret key, so pass on only its code.
      const { code } = error as { readonly code?: unknown };
      const reason = typeof code === 'string' ? code : 'no response';
      if (!transport.mayHaveSent) throw new PaymentsUnavailable(`${method} was not sent: ${reason}`);
      throw new PaymentOutcomeUnknown(`${method} was sent, then: ${reason}`);
    }
  }
}
