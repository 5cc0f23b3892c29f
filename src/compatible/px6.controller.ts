import { Controller, Get, Res, UseFilters, UseGuards } from '@nestjs/common';
import type { Response } from 'express';
import { type Caller, CurrentCaller, Scopes } from '../auth';
import { CatalogService } from '../catalog';
import { Clock, DomainError, IP_VERSIONS, Money } from '../common';
import { disconnection } from '../http';
import { LedgerService } from '../ledger';
import { BulkProlongations, type OrderResult, OrdersService, readPurchase } from '../orders';
import { LabelsService, normalLabel, ProxyChecksService, ProxyNotFound } from '../proxies';
import { TypeChangeService } from '../sync';
import { CallGuard } from './call-guard';
import { listingStateOf, OwnProxies } from './own-proxies';
import { OutcomeNotKnown, WireError } from './wire-error';
import { mayBeDone, WireErrorFilter } from './wire-error.filter';
import { moscowTime, roubles, unixSeconds, wireList, wireProxy, wireVersionOf } from './wire-formats';
import { WireParameters, WireQuery } from './wire-query';

const MAX_LIMIT = 1000;
/** Limited because each change takes two provider calls. */
const MAX_TYPE_CHANGES = 20;
/** Prefix of a label that makes a purchase safe to retry. */
const KEY_PREFIX = 'key:';
/** Matches a label in which the prefix `key:` may be mistyped. */
const NEARLY_KEY = /^[^\p{L}\p{N}]*key[^\p{L}\p{N}]*[:\uFF1A]/iu;

/** `docs/px6.md` lists the differences from PROXY6's API. */
@Controller('api')
@UseFilters(WireErrorFilter)
@UseGuards(CallGuard)
@Scopes('profile:read')
export class Px6Controller {
  constructor(
    private readonly catalog: CatalogService,
    private readonly ledger: LedgerService,
    private readonly orders: OrdersService,
    private readonly bulks: BulkProlongations,
    private readonly labels: LabelsService,
    private readonly types: TypeChangeService,
    private readonly checks: ProxyChecksService,
    private readonly own: OwnProxies,
    private readonly clock: Clock,
  ) {}

  @Get(':token')
  account(@CurrentCaller() caller: Caller) {
    return this.datedEnvelope(caller, {});
  }

  @Get(':token/getprice')
  @Scopes('price:read')
  async getprice(
    @CurrentCaller() caller: Caller,
    @WireParameters() query: WireQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const version = query.getVersion();
    if (!query.has('period')) {
      const prices = await this.catalog.prices(caller.userId);
      const tables = IP_VERSIONS.map((each) => [
        wireVersionOf(each),
        Object.fromEntries(
          prices.filter((one) => one.version === each).map(({ period, price }) => [period, roubles(price)]),
        ),
      ]);
      return this.datedEnvelope(caller, { data: Object.fromEntries(tables) });
    }
    const offer = { version, count: query.getCount(), period: query.getPeriodDays() };
    const quote = await this.catalog.quote(offer, caller.userId, disconnection(response));
    const { count, period } = offer;
    return this.datedEnvelope(caller, {
      price: roubles(quote.total),
      price_single: perDay(quote.unitPrice, period),
      period,
      count,
    });
  }

  @Get(':token/getcount')
  @Scopes('countries:read')
  async getcount(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    const country = query.getCountry();
    const version = query.getVersion();
    const lists = await Promise.all(IP_VERSIONS.map((each) => this.catalog.countries(each)));
    if (!lists.some((countries) => countries.includes(country))) throw new WireError(220);
    return this.envelope(caller, { count: await this.catalog.stock(country, version) });
  }

  @Get(':token/getcountry')
  @Scopes('countries:read')
  async getcountry(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    return this.envelope(caller, { list: await this.catalog.countries(query.getVersion()) });
  }

  @Get(':token/getproxy')
  @Scopes('proxies:read')
  async getproxy(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    const page = Math.max(query.findNumber('page') ?? 1, 1);
    const list = await this.own.list(caller.userId, {
      state: listingStateOf(query.find('state')),
      descr: labelOf(query.findDescr()),
      page,
      limit: Math.min(query.findNumber('limit') || MAX_LIMIT, MAX_LIMIT),
    });
    return this.datedEnvelope(caller, {
      list_count: list.length,
      page,
      list: wireList(list, query.has('nokey')),
    });
  }

  @Get(':token/setdescr')
  @Scopes('proxies:write')
  async setdescr(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    const descr = query.findDescr('new');
    if (descr === null) throw new WireError(250);
    const ids = query.findIds();
    const old = labelOf(query.findDescr('old'));
    if (ids === null && old === null) throw new WireError(230);
    const found = await this.own.find(caller.userId, ids ? { ids } : { descr: old ?? '' });
    await this.labels.change(
      caller,
      found.map(({ id }) => id),
      { descr, tags: undefined },
    );
    return this.envelope(caller, { count: found.length });
  }

  /** If any change but the first fails, reports that the outcome is unknown. */
  @Get(':token/settype')
  @Scopes('proxies:write')
  async settype(
    @CurrentCaller() caller: Caller,
    @WireParameters() query: WireQuery,
    @Res({ passthrough: true }) response: Response,
  ) {
    const closed = disconnection(response);
    const ids = query.getIds(MAX_TYPE_CHANGES);
    const type = query.findType();
    if (type === null) throw new WireError(260);
    const found = await this.own.find(caller.userId, { ids });
    // A call that would change no proxy gets the error that PROXY6 documents for this case.
    if (found.every(({ proxyType }) => proxyType === type)) throw new WireError(30);
    for (const [at, { id }] of found.entries()) {
      closed.throwIfAborted();
      await this.types.change(caller.userId, String(id), type).catch((error: unknown) => {
        throw at === 0 ? error : new OutcomeNotKnown();
      });
    }
    return this.envelope(caller, {});
  }

  @Get(':token/buy')
  @Scopes('proxies:write')
  async buy(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    // Refuse `auto_prolong`: our renewals have other rules, and this API offers no way to turn it off again.
    if (query.has('auto_prolong')) throw new WireError(110);
    const count = query.getCount();
    const period = query.getPeriodDays();
    const country = query.getCountry();
    const body = {
      country,
      period,
      count,
      version: query.getVersion(),
      proxy_type: query.findType() ?? 'http',
      max_price: null,
      allow_partial: true,
      dry_run: false,
    };
    const descr = labelOf(query.findDescr());
    if (descr !== null) await this.labels.assertMayLabel(caller, country, descr);
    const key = descr?.startsWith(KEY_PREFIX) ? descr : undefined;
    if (key === undefined && descr !== null && NEARLY_KEY.test(descr)) throw new WireError(250);
    const delivery = await this.orders.place(readPurchase(caller, body, key, descr));
    const list = delivery.proxies.map((proxy) => wireProxy(fromOut(proxy)));
    const charged = Money.parse(delivery.charged);
    return this.datedEnvelope(caller, {
      order_id: delivery.orderId,
      count,
      price: roubles(charged),
      price_single: perDay(charged, list.length * period),
      period,
      country,
      list: wireList(list, query.has('nokey')),
    });
  }

  /** Prolongs as many proxies as possible. In the response, `count` and `list` cover only those prolonged. */
  @Get(':token/prolong')
  @Scopes('proxies:write')
  async prolong(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    const period = query.getPeriodDays();
    const outcomes = await this.bulks.prolongOnce(caller, query.getIds(), period);
    const unknown = outcomes.find(mayBeDoneOf);
    if (unknown) throw unknown;
    const done = outcomes.filter((one): one is OrderResult => !(one instanceof DomainError));
    const [first, ...others] = done;
    if (!first) {
      const refusals = outcomes.filter((one) => one instanceof DomainError);
      throw refusals.find((one) => !(one instanceof ProxyNotFound)) ?? refusals[0] ?? new ProxyNotFound();
    }
    const list = done.flatMap(({ proxies }) =>
      proxies.map(({ id, date_end: end }) => {
        const endS = unixSeconds(end);
        return { id: Number(id), date_end: moscowTime(endS), unixtime_end: endS };
      }),
    );
    const price = done.reduce((sum, { charged }) => sum.plus(Money.parse(charged)), Money.zero);
    return this.datedEnvelope(caller, {
      order_id: others.reduce((least, { orderId }) => Math.min(least, orderId), first.orderId),
      price: roubles(price),
      price_single: perDay(price, list.length * period),
      period,
      count: list.length,
      list: wireList(list, query.has('nokey')),
    });
  }

  @Get(':token/check')
  @Scopes('proxies:read')
  async check(@CurrentCaller() caller: Caller, @WireParameters() query: WireQuery) {
    const proxy = query.find('proxy');
    const [id] = query.findIds(1) ?? [proxy === null ? null : await this.own.findId(caller.userId, proxy)];
    if (!id) throw new WireError(230);
    const { works, first_byte_ms: firstByteMs } = await this.checks.run(caller.userId, id);
    if (works === null) throw new OutcomeNotKnown();
    return this.datedEnvelope(caller, {
      proxy_id: Number(id),
      proxy_status: works,
      proxy_time: works ? (firstByteMs ?? 0) / 1000 : 0,
    });
  }

  /** Refuses all other methods, including `delete` and `ipauth`. */
  @Get(':token/*method')
  unknownMethod(): never {
    throw new WireError(110);
  }

  private async envelope(caller: Caller, fields: object) {
    const balance = await this.ledger.available(caller.userId);
    return {
      status: 'yes',
      user_id: String(caller.userId),
      balance: balance.toString(),
      currency: 'RUB',
      ...fields,
    };
  }

  /** Adds the undocumented `date_mod`, which some clients require in these responses. */
  private datedEnvelope(caller: Caller, fields: object) {
    return this.envelope(caller, { date_mod: moscowTime(unixSeconds(this.clock.now())), ...fields });
  }
}

const labelOf = (descr: string | null): string | null => descr && normalLabel(descr);

/** Price per day, for information only. It is rounded as in PROXY6's examples. */
const perDay = (price: Money, days: number): number => Number((roubles(price) / days).toFixed(4));

const mayBeDoneOf = (outcome: OrderResult | DomainError): outcome is DomainError =>
  outcome instanceof DomainError && mayBeDone(outcome);

const fromOut = ({
  proxy_type: proxyType,
  date_start: dateStart,
  date_end: dateEnd,
  ...proxy
}: OrderResult['proxies'][number]) => ({ ...proxy, proxyType, dateStart, dateEnd });
