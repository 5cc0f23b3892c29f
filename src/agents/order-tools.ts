import { Injectable } from '@nestjs/common';
import { type Caller, NotEnoughPermissions } from '../auth';
import { Clock, Money } from '../common';
import { AppConfig } from '../config';
import {
  BulkProlongations,
  type DryRunResponse,
  longestOrderMs,
  OrderReadingService,
  type OrderSummary,
  OrdersService,
  readPurchase,
} from '../orders';
import { ProxyRefundOut, ProxyRefundsService } from '../proxy-refunds';
import {
  PlacedOrderOut,
  PlaceOrderInput,
  PreparationOut,
  PrepareProlongationInput,
  PreparePurchaseInput,
  ProxyInput,
} from './agents.dto';
import { type OrderPreparation, readReference, writeReference } from './prepared-order';
import { LONG_RESULT_LENGTH, MAX_RESULT_LENGTH, type Tool, tool, type ToolCall } from './tool';

const PLACE =
  'Show the user the price and wait for confirmation. Then call place_order with order_ref. If the ' +
  'response is lost, call it again with the same order_ref.';
const EXECUTED = 'The order has been executed; nothing more is needed.';
/** Shows the agent how to find a long result's proxies. Otherwise, the agent might buy them again. */
const executedAtLength = (orderId: number): string =>
  `${EXECUTED} If you do not see its proxies, call list_proxies with order_id ${orderId}, or ` +
  `export_proxies with order_id ${orderId} and reveal: true for their passwords.`;
const REFUSED = 'Tell the user which proxies were not prolonged, and why.';
const UNFINISHED =
  'Some prolongations are being_confirmed or unavailable: call place_order again with the same order_ref.';

/** Tools for buying in two steps, so that an order is placed only once and costs no more than agreed. */
@Injectable()
export class OrderTools {
  readonly tools: readonly Tool[] = [
    tool({
      name: 'prepare_purchase',
      description:
        'Checks a purchase and returns its price without charging anything. place_order then buys for ' +
        'at most this price.',
      scope: 'proxies:write',
      input: PreparePurchaseInput,
      output: PreparationOut,
      example: { country: 'ru', period: 30, count: 2 },
      run: (input, call) => this.preparePurchase(input, call),
    }),
    tool({
      name: 'prepare_prolongation',
      description:
        'Checks the prolongation of proxies and returns its price without charging anything. ' +
        'place_order then prolongs them for at most this price.',
      scope: 'proxies:write',
      input: PrepareProlongationInput,
      output: PreparationOut,
      example: { proxy_ids: ['17', '18'], period: 30 },
      run: (input, call) => this.prepareProlongation(input, call),
    }),
    tool({
      name: 'place_order',
      description:
        'Places a prepared order and charges the balance. Calling it again with the same order_ref ' +
        'returns the same order and never charges twice. If the response is lost, call it again; do ' +
        'not prepare the order again.',
      scope: 'proxies:write',
      input: PlaceOrderInput,
      output: PlacedOrderOut,
      effect: 'final',
      example: { order_ref: 'eyJ1IjoxNzY0…' },
      run: (input, call) => this.place(input, call),
    }),
    tool({
      name: 'request_refund',
      description:
        "Requests a refund for a proxy that does not work. If the service's checks confirm this, the " +
        'remaining days are refunded and the proxy is permanently withdrawn. Calling it again returns ' +
        'the same refund.',
      scope: 'proxies:write',
      input: ProxyInput,
      output: ProxyRefundOut,
      effect: 'final',
      example: { proxy_id: '17' },
      run: ({ proxy_id: id }, { caller }) => this.refunds.request(caller.userId, id),
    }),
  ];

  constructor(
    private readonly orders: OrdersService,
    private readonly bulks: BulkProlongations,
    private readonly reading: OrderReadingService,
    private readonly refunds: ProxyRefundsService,
    private readonly clock: Clock,
    private readonly config: AppConfig,
  ) {}

  private async preparePurchase(input: PreparePurchaseInput, call: ToolCall): Promise<PreparationOut> {
    const { country, version, count, period, proxy_type: type, allow_partial: allowPartial } = input;
    const order = { country, version, count, period, proxy_type: type, allow_partial: allowPartial };
    const checked = await this.orders.rehearse(
      readPurchase(call.caller, { ...order, max_price: null, dry_run: true }, undefined),
    );
    const equal = await this.reading.findEqual(call.caller.userId, {
      country: country.toLowerCase(),
      version,
      period,
      count,
      proxyType: type,
    });
    return this.prepared(call, checked, equal, {
      d: period,
      p: [country, version, count, type, allowPartial],
    });
  }

  private async prepareProlongation(
    { proxy_ids: ids, period }: PrepareProlongationInput,
    call: ToolCall,
  ): Promise<PreparationOut> {
    const checked = await this.bulks.rehearse(call.caller, ids, period);
    const equal = await this.reading.findEqual(call.caller.userId, { proxyIds: ids.map(Number) });
    return this.prepared(call, checked, equal, { d: period, r: [...ids] });
  }

  private prepared(
    { tokenHash }: ToolCall,
    checked: DryRunResponse,
    equal: readonly OrderSummary[],
    order: Omit<OrderPreparation, 'm'>,
  ): PreparationOut {
    const { price_final: price, currency, balance_available, balance_after, refusals } = checked;
    const isRefused = price === null || refusals.length > 0;
    const reference = isRefused ? null : writeReference({ m: price, ...order }, tokenHash, this.clock.now());
    return {
      order_ref: reference?.ref ?? null,
      expires_at: reference?.expiresAt ?? null,
      price_final: price,
      currency,
      balance_available,
      balance_after,
      refusals,
      equal_orders: equal,
      next: isRefused ? 'Tell the user why the order would be refused.' : PLACE,
    };
  }

  /** Places one order per reference. Repeated calls return that order, even after the reference expires. */
  private async place(
    { order_ref: ref, reveal }: PlaceOrderInput,
    { caller, tokenHash }: ToolCall,
  ): Promise<PlacedOrderOut> {
    if (reveal && !caller.scopes.includes('proxies:export')) throw new NotEnoughPermissions('proxies:export');
    const waitSeconds = longestOrderMs(this.config) / 1000;
    const { prepared, keys } = readReference(ref, tokenHash, this.clock.now(), waitSeconds);
    let none: unknown;
    for (const { idempotencyKey, refusal } of keys) {
      const replaying = refusal ? { ...caller, overLimit: refusal } : caller;
      try {
        return await this.placeUnder(idempotencyKey, prepared, replaying, reveal);
      } catch (error) {
        if (error !== refusal) throw error;
        none = error;
      }
    }
    throw none;
  }

  private async placeUnder(
    idempotencyKey: string,
    { d: period, m, p: purchase, r: ids = [] }: OrderPreparation,
    caller: Caller,
    reveal: boolean,
  ): Promise<PlacedOrderOut> {
    const maxPrice = Money.parse(m);
    if (!purchase) {
      const request = { proxy_ids: ids, filter: null, period, max_price: maxPrice };
      const { response, replayed } = await this.bulks.prolong(caller, request, idempotencyKey);
      const { proxies, prolonged, being_confirmed, unavailable, price_charged: charged } = response.totals;
      const done = prolonged === proxies ? EXECUTED : REFUSED;
      return {
        kind: 'prolongation',
        order_id: null,
        price_charged: charged,
        currency: 'RUB',
        replayed,
        delivered: prolonged,
        proxies: [],
        prolongations: response.proxies,
        next: being_confirmed + unavailable > 0 ? UNFINISHED : done,
      };
    }
    const [country, version, count, type, allowPartial] = purchase;
    const body = { country, version, count, period, proxy_type: type, allow_partial: allowPartial };
    const order = { ...body, max_price: maxPrice, dry_run: false };
    const delivery = await this.orders.place(readPurchase(caller, order, idempotencyKey));
    const bought = delivery.proxies.map((proxy) =>
      reveal ? proxy : Object.assign({}, proxy, { login: null, password: null }),
    );
    const { length } = JSON.stringify(bought);
    return {
      kind: 'purchase',
      order_id: delivery.orderId,
      price_charged: delivery.charged,
      currency: 'RUB',
      replayed: delivery.replayed,
      delivered: bought.length,
      proxies: length > MAX_RESULT_LENGTH ? [] : bought,
      prolongations: [],
      next: length > LONG_RESULT_LENGTH ? executedAtLength(delivery.orderId) : EXECUTED,
    };
  }
}
