import { Injectable } from '@nestjs/common';
import { CatalogService, CountryStock, QuoteResponse } from '../catalog';
import { PageQuery } from '../http';
import { BalanceChangesPage, BalanceHistoryService } from '../ledger';
import { OrderDetails, OrderReadingService, OrdersQuery, OrderSummaryPage } from '../orders';
import {
  ListRevisionService,
  ProxiesService,
  ProxyCheckOut,
  ProxyChecksService,
  ProxyExportService,
  type ProxyOut,
  toProxyFilter,
} from '../proxies';
import { ProxyRefundOut, ProxyRefundsService } from '../proxy-refunds';
import { ForecastOut, ForecastQuery, ForecastService, RenewalRecords, RenewalsPage } from '../renewals';
import { UserInfo, UsersService } from '../users';
import {
  CountriesInput,
  CountriesOut,
  ExportInput,
  ExportOut,
  LedgerInput,
  NoInput,
  OrderInput,
  PriceInput,
  ProxiesInput,
  ProxiesOut,
  ProxyInput,
  RefundInput,
  StockInput,
} from './agents.dto';
import { ExportTooLarge, PasswordsNotRevealed } from './agents.errors';
import { MAX_RESULT_LENGTH, type Tool, tool, type ToolCall } from './tool';

/** Tools that change nothing. */
@Injectable()
export class ReadingTools {
  readonly tools: readonly Tool[] = [
    tool({
      name: 'list_countries',
      description: 'Lists the countries where proxies of an IP version are for sale.',
      scope: 'countries:read',
      input: CountriesInput,
      output: CountriesOut,
      example: { version: '6' },
      run: async ({ version }) => ({ countries: await this.catalog.countries(version) }),
    }),
    tool({
      name: 'get_stock',
      description: 'Returns the number of proxies in stock in a country.',
      scope: 'countries:read',
      input: StockInput,
      output: CountryStock,
      example: { country: 'ru', version: '6' },
      run: async ({ country: text, version }) => {
        const country = text.toLowerCase();
        return { country, version, available: await this.catalog.stock(country, version) };
      },
    }),
    tool({
      name: 'get_price',
      description: 'Returns the maximum price of a purchase. In some countries, the purchase costs less.',
      scope: 'price:read',
      input: PriceInput,
      output: QuoteResponse,
      example: { count: 2, period: 30, version: '6' },
      run: async ({ period, count, version }, { caller, hungUp }) => {
        const { total, unitPrice } = await this.catalog.quote(
          { period, count, version },
          caller.userId,
          hungUp,
        );
        const prices = { price_final: total.toString(), price_single: unitPrice.toString() };
        return { ...prices, period, count, currency: 'RUB' };
      },
    }),
    tool({
      name: 'list_proxies',
      description:
        "Lists the user's proxies that match all of the given fields, ordered by id, without passwords.",
      scope: 'proxies:read',
      input: ProxiesInput,
      output: ProxiesOut,
      example: { country: 'ru', active: true, limit: 50 },
      run: async (input, { caller }) => {
        const page = { filter: toProxyFilter(input), cursor: input.cursor, limit: input.limit };
        const { json, next } = await this.proxies.readPage(caller.userId, page);
        const found = JSON.parse(json) as readonly ProxyOut[];
        return {
          items: found.map(({ login: _login, password: _password, ...proxy }) => proxy),
          next_cursor: next,
        };
      },
    }),
    tool({
      name: 'export_proxies',
      description:
        'Exports the proxies that match all of the given fields, including passwords, in a format for ' +
        'programs.',
      scope: 'proxies:export',
      input: ExportInput,
      output: ExportOut,
      example: { format: 'curl', country: 'ru', active: true, reveal: true },
      run: async (input, call) => ({ text: await this.export(input, call) }),
    }),
    tool({
      name: 'check_proxy',
      description: 'Sends a request through a proxy and reports, within 10 seconds, whether the proxy works.',
      scope: 'proxies:read',
      input: ProxyInput,
      output: ProxyCheckOut,
      example: { proxy_id: '17' },
      run: ({ proxy_id: id }, { caller }) => this.checks.run(caller.userId, id),
    }),
    tool({
      name: 'get_refund',
      description:
        'Returns the refund for a proxy that does not work. If no refund has been requested, returns ' +
        'its amount and the condition that is not met, if any. If `wait` is set, waits while the proxy ' +
        'is being checked.',
      scope: 'proxies:read',
      input: RefundInput,
      output: ProxyRefundOut,
      example: { proxy_id: '17', wait: 30 },
      run: ({ proxy_id: id, wait: seconds }, { caller, request, hungUp }) =>
        this.refunds.read(caller.userId, id, { seconds, request, hungUp }),
    }),
    tool({
      name: 'list_orders',
      description: 'Lists the orders that match all of the given fields, newest first.',
      scope: 'proxies:read',
      input: OrdersQuery,
      output: OrderSummaryPage,
      example: { kind: 'purchase', limit: 10 },
      run: (query, { caller }) => this.orders.list(caller.userId, query),
    }),
    tool({
      name: 'get_order',
      description:
        "Returns an order and its proxies' ids. If `wait` is set, waits until the order is closed.",
      scope: 'proxies:read',
      input: OrderInput,
      output: OrderDetails,
      example: { order_id: 42, wait: 30 },
      run: ({ order_id: id, wait: seconds }, { caller, request, hungUp }) =>
        this.orders.read(caller.userId, String(id), { seconds, request, hungUp }),
    }),
    tool({
      name: 'list_ledger',
      description: 'Lists every change to the balance, newest first.',
      scope: 'profile:read',
      input: LedgerInput,
      output: BalanceChangesPage,
      example: { from: '2026-11-01T00:00:00Z', limit: 50 },
      run: (input, { caller }) => this.history.listEntries(caller.userId, input, input),
    }),
    tool({
      name: 'get_balance',
      description: "Returns the user's profile and available balance, in roubles.",
      scope: 'profile:read',
      input: NoInput,
      output: UserInfo,
      example: {},
      run: (_, { caller }) => this.users.getProfile(caller.userId),
    }),
    tool({
      name: 'list_renewals',
      description: 'Lists automatic renewals (planned, done, skipped and failed), newest first.',
      scope: 'proxies:read',
      input: PageQuery,
      output: RenewalsPage,
      example: { limit: 50 },
      run: (page, { caller }) => this.renewals.list(caller.userId, page),
    }),
    tool({
      name: 'forecast_renewals',
      description: 'Forecasts renewals and their prices, and shows how long the balance will last.',
      scope: 'profile:read',
      input: ForecastQuery,
      output: ForecastOut,
      example: { days: 30 },
      run: (query, { caller }) => this.forecasts.read(caller.userId, query),
    }),
  ];

  constructor(
    private readonly catalog: CatalogService,
    private readonly proxies: ProxiesService,
    private readonly exporter: ProxyExportService,
    private readonly revisions: ListRevisionService,
    private readonly checks: ProxyChecksService,
    private readonly refunds: ProxyRefundsService,
    private readonly orders: OrderReadingService,
    private readonly history: BalanceHistoryService,
    private readonly users: UsersService,
    private readonly renewals: RenewalRecords,
    private readonly forecasts: ForecastService,
  ) {}

  /** @throws PasswordsNotRevealed, ExportTooLarge */
  private async export(input: ExportInput, { caller, hungUp }: ToolCall): Promise<string> {
    if (!input.reveal) throw new PasswordsNotRevealed();
    const revision = await this.revisions.get(caller);
    const options = { format: input.format, template: null, filter: toProxyFilter(input) };
    const written = await this.exporter.get(revision, options, hungUp);
    let text = '';
    for await (const part of Buffer.isBuffer(written) ? [written] : written) {
      if (text.length + part.length > MAX_RESULT_LENGTH) throw new ExportTooLarge(MAX_RESULT_LENGTH);
      text += part.toString();
    }
    return text;
  }
}
