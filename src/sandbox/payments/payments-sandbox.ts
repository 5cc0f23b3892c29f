import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import {
  hasErrorCode,
  KEEP_ALIVE_MS,
  listenOnFirstFree,
  readText,
  stopListening,
  writePrivateFile,
} from '../system';
import { PaymentNotifier } from './notifier';
import { paymentPage } from './page';
import { type CashRegisterKind, missingReceipt, readReceipt } from './receipts';
import { type Amount, SandboxShop, type SandboxPayment } from './sandbox-shop';
import { PaymentWireError } from './wire-error';

const LOOPBACK = '127.0.0.1';
const MAX_BODY_BYTES = 64 * 1024;
const MOST_LISTED = 100;
const STATE_FILE = 'payments.json';

export type WireMethod = 'create' | 'read' | 'list' | 'refund' | 'refunds';

/**
 * `lost` executes the call, then closes the connection. `500-done` executes it, then responds with 500.
 * `late` executes it and never responds. `unread` never responds, and does not execute the call. The other
 * faults respond with an error and do not execute it.
 */
export type PaymentFault = 'lost' | '500-done' | 'late' | 'unread' | '500' | '429' | '403' | '401' | '400';

/** Error codes of the faults that respond without executing the call. */
const REFUSALS: Readonly<Record<string, string>> = {
  400: 'invalid_request',
  401: 'invalid_credentials',
  403: 'forbidden',
  429: 'too_many_requests',
  500: 'internal_server_error',
};

export interface PaymentsSandboxOptions {
  /** Default: keep the state only in memory. */
  readonly directory?: string;
  readonly ports?: readonly number[];
}

interface WireCall {
  readonly method: WireMethod;
  readonly key: string;
  readonly id: string;
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Imitates the part of YooKassa's API v3 that the service uses. */
export class PaymentsSandbox {
  readonly shopId = '100500';
  readonly secretKey: string;
  readonly notifier: PaymentNotifier;
  readonly shop: SandboxShop;
  readonly calls: Record<WireMethod, number> = { create: 0, read: 0, list: 0, refund: 0, refunds: 0 };
  /** Number of reads by payment id, including unknown ids. */
  readonly reads = new Map<string, number>();
  baseUrl = '';
  /** `null` if the shop's payments need no receipts. */
  cashRegister: CashRegisterKind | null = null;
  /** How far ahead the clock of the `Date` header is. */
  clockOffsetMs = 0;
  /** Changes a result before it is returned. */
  alter: ((method: WireMethod, result: unknown) => unknown) | undefined;

  private readonly server = createServer(
    { keepAliveTimeout: KEEP_ALIVE_MS },
    (request, response) => void this.serve(request, response),
  );
  private readonly faults = new Map<WireMethod, PaymentFault[]>();
  private writing = Promise.resolve();

  private constructor(private readonly directory: string | undefined) {
    this.secretKey = `live_${randomBytes(24).toString('base64url')}`;
    this.shop = new SandboxShop(() => this.store());
    this.notifier = new PaymentNotifier();
  }

  static async start({ directory, ports = [0] }: PaymentsSandboxOptions = {}): Promise<PaymentsSandbox> {
    const sandbox = new PaymentsSandbox(directory);
    await sandbox.load();
    const port = await listenOnFirstFree(sandbox.server, LOOPBACK, ports);
    sandbox.baseUrl = `http://${LOOPBACK}:${port}/v3`;
    return sandbox;
  }

  async close(): Promise<void> {
    this.notifier.close();
    this.server.closeAllConnections();
    await stopListening(this.server);
    await this.writing;
  }

  /** Makes the next calls of a method fail, one call per fault. */
  fail(method: WireMethod, ...faults: readonly PaymentFault[]): void {
    this.faults.set(method, [...(this.faults.get(method) ?? []), ...faults]);
  }

  resetFaults(): void {
    this.alter = undefined;
    this.cashRegister = null;
    this.clockOffsetMs = 0;
    this.faults.clear();
    this.notifier.goWrong({});
    this.shop.receiptState = 'succeeded';
  }

  pay(id: string): void {
    if (this.shop.pay(id)) this.notifier.send('payment.succeeded', this.toWire(this.shop.payment(id)));
  }

  /** @param reason `expired_on_confirmation` if the payment was not paid in time */
  cancel(id: string, reason?: string): void {
    if (this.shop.cancel(id, reason)) {
      this.notifier.send('payment.canceled', this.toWire(this.shop.payment(id)));
    }
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const url = new URL(request.url ?? '/', this.baseUrl);
      const [, first, id = '', action] = url.pathname.split('/');
      if (first === 'pay') return this.servePage(request, response, id, action);
      await this.serveWire(request, response, url);
    } catch (error) {
      const refusal =
        error instanceof PaymentWireError
          ? error
          : new PaymentWireError(500, 'internal_server_error', String(error));
      const { status, code, message: description, parameter } = refusal;
      sendJson(response, status, { type: 'error', id: 'sandbox', code, description, parameter });
    }
  }

  private servePage(
    request: IncomingMessage,
    response: ServerResponse,
    id: string,
    action: string | undefined,
  ): void {
    const payment = this.shop.payment(id);
    if (request.method === 'POST') {
      if (action === 'pay') this.pay(id);
      else this.cancel(id);
      response.writeHead(303, { Location: `/pay/${id}` }).end();
      return;
    }
    response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8' }).end(paymentPage(payment));
  }

  private async serveWire(request: IncomingMessage, response: ServerResponse, url: URL): Promise<void> {
    response.setHeader('Date', new Date(Date.now() + this.clockOffsetMs).toUTCString());
    this.authorize(request);
    if (request.method === 'POST' && url.pathname === '/v3/webhooks') {
      const { url: notified } = (await readJson(request)) as { readonly url: string };
      this.notifier.url = notified;
      sendJson(response, 200, { url: notified });
      return;
    }
    const call = await readCall(request, url);
    this.calls[call.method] += 1;
    const fault = this.faults.get(call.method)?.shift();
    const code = REFUSALS[fault ?? ''];
    if (code) {
      const description = `The ${call.method} request for payer@example.com was not executed`;
      throw new PaymentWireError(Number(fault), code, description, 'amount');
    }
    if (fault === 'unread') return;
    const performed = this.perform(call);
    const result = this.alter ? this.alter(call.method, performed) : performed;
    // Notifications may arrive before the response, as with the real provider.
    if (call.method === 'create') {
      await this.notifier.beforeResponse(performed as SandboxPayment, (id) => this.pay(id));
    }
    if (fault === '500-done') throw new PaymentWireError(500, 'internal_server_error', 'It was done');
    if (fault === 'late') return;
    if (fault === 'lost') response.destroy();
    else sendJson(response, 200, result);
  }

  private authorize({ headers }: IncomingMessage): void {
    const expected = Buffer.from(`${this.shopId}:${this.secretKey}`).toString('base64');
    if (headers.authorization !== `Basic ${expected}`) {
      throw new PaymentWireError(401, 'invalid_credentials', 'Unknown shop, or wrong key');
    }
  }

  private perform({ method, key, id, query, body }: WireCall): unknown {
    switch (method) {
      case 'create': {
        const { return_url } = body['confirmation'] as { return_url: string };
        const amount = body['amount'] as Amount;
        const receipt = readReceipt(body['receipt'], amount, this.cashRegister);
        if (this.cashRegister !== null && !receipt) throw missingReceipt();
        return this.toWire(
          this.shop.create(key, {
            amount,
            ...(receipt && { receipt }),
            metadata: (body['metadata'] ?? {}) as Record<string, string>,
            return_url,
            ...(typeof body['description'] === 'string' && { description: body['description'] }),
          }),
        );
      }
      case 'read':
        this.reads.set(id, (this.reads.get(id) ?? 0) + 1);
        return this.toWire(this.shop.payment(id));
      case 'list':
        return page(
          [...this.shop.payments.values()].map((payment) => this.toWire(payment)),
          query,
        );
      case 'refund': {
        const payment = this.shop.payment(String(body['payment_id']));
        const amount = body['amount'] as Amount;
        const given = readReceipt(body['receipt'], amount, this.cashRegister);
        // A full refund needs no receipt of its own, because the provider reuses the payment's.
        if (payment.receipt && !given && amount.value !== payment.amount.value) throw missingReceipt();
        const refund = this.shop.refund(key, {
          payment_id: payment.id,
          amount,
          ...(given && { receipt: given }),
          metadata: (body['metadata'] ?? {}) as Record<string, string>,
        });
        this.notifier.send('refund.succeeded', refund);
        return withoutReceipt(refund);
      }
      case 'refunds':
        return page([...this.shop.refunds.values()].map(withoutReceipt), query);
    }
  }

  private toWire({ return_url, ...payment }: SandboxPayment) {
    const origin = new URL(this.baseUrl).origin;
    return {
      ...withoutReceipt(payment),
      paid: payment.status === 'succeeded',
      refundable: payment.status === 'succeeded',
      recipient: { account_id: this.shopId, gateway_id: '1' },
      confirmation: { type: 'redirect', return_url, confirmation_url: `${origin}/pay/${payment.id}` },
    };
  }

  private async load(): Promise<void> {
    if (this.directory === undefined) return;
    try {
      this.shop.load(await readFile(join(this.directory, STATE_FILE), 'utf8'));
    } catch (error) {
      if (!hasErrorCode(error, 'ENOENT')) throw error;
    }
  }

  private store(): void {
    const { directory } = this;
    if (directory === undefined) return;
    this.writing = this.writing.then(() =>
      writePrivateFile(join(directory, STATE_FILE), JSON.stringify(this.shop)),
    );
  }
}

const withoutReceipt = <Item extends object>(item: Item) => ({ ...item, receipt: undefined });

function page(
  all: readonly {
    readonly created_at: string;
    readonly captured_at?: string;
    readonly payment_id?: string;
  }[],
  query: URLSearchParams,
) {
  const since = query.get('created_at.gte') ?? '';
  const capturedSince = query.get('captured_at.gte') ?? '';
  const paymentId = query.get('payment_id');
  const found = all
    .filter(
      (one) =>
        one.created_at >= since &&
        (one.captured_at ?? '') >= capturedSince &&
        (paymentId === null || one.payment_id === paymentId),
    )
    .toReversed();
  const start = Number(query.get('cursor') ?? 0);
  const end = start + Math.min(MOST_LISTED, Number(query.get('limit') ?? 10));
  return {
    type: 'list',
    items: found.slice(start, end),
    ...(end < found.length && { next_cursor: String(end) }),
  };
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const tooLong = new PaymentWireError(400, 'invalid_request', 'The body is too large');
  return JSON.parse(await readText(request, MAX_BODY_BYTES, tooLong));
}

async function readCall(request: IncomingMessage, url: URL): Promise<WireCall> {
  const [, , resource, id = ''] = url.pathname.split('/');
  const isPost = request.method === 'POST';
  const method = methodOf(resource, isPost, id);
  if (method === undefined) throw new PaymentWireError(404, 'not_found', 'There is no such method');
  const key = request.headers['idempotence-key'];
  if (isPost && (typeof key !== 'string' || key.length > 64)) {
    throw new PaymentWireError(400, 'invalid_request', 'Idempotence-Key is missing or too long');
  }
  const body = isPost ? ((await readJson(request)) as Record<string, unknown>) : {};
  return { method, key: String(key), id, query: url.searchParams, body };
}

function methodOf(resource: string | undefined, isPost: boolean, id: string): WireMethod | undefined {
  if (resource === 'payments') return isPost ? 'create' : id === '' ? 'list' : 'read';
  if (resource === 'refunds') return isPost ? 'refund' : 'refunds';
  return undefined;
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}
