import type { Type } from '@nestjs/common';
import { getSchemaPath } from '@nestjs/swagger';
import type { ProxyOut } from '../../proxies';
import { DryRunResponse } from './dto/dry-run-response.dto';
import type { ProlongResponse, PurchaseResponse } from './dto/orders.dto';

export const EXAMPLE_PROXY: ProxyOut = {
  id: '17',
  host: '185.22.134.250',
  port: '7330',
  login: '5svBNZ',
  password: 'iagn2d',
  proxy_type: 'http',
  country: 'ru',
  version: '6',
  date_start: '2026-11-01T12:00:00Z',
  date_end: '2026-12-01T12:00:00Z',
  active: true,
  descr: null,
};

export const EXAMPLE_RECEIPT = { order_id: 42, price_charged: '25.08', currency: 'RUB' };

const WOULD_BE_PLACED = {
  dry_run: true,
  order_id: null,
  price_single: '25.08',
  price_final: '25.08',
  currency: 'RUB',
  balance_available: '100.00',
  balance_after: '74.92',
  refusals: [],
};

const WOULD_BE_REFUSED = {
  ...WOULD_BE_PLACED,
  balance_available: '10.00',
  balance_after: '10.00',
  refusals: [
    { status: 409, detail: 'The price is 25.08, above the max_price of 20.00' },
    { status: 400, detail: 'Insufficient balance' },
  ],
};

const GUARDS_HEADER = {
  'Order-Guards': {
    description:
      'The guards that the service read from this request. Absent if there are none: a misspelt guard ' +
      'is an unknown field, which is ignored',
    schema: { type: 'string' as const, example: 'max_price=25.08, allow_partial=false' },
  },
};

export const orderResponse = (type: Type<PurchaseResponse | ProlongResponse>, delivered: object) => ({
  description: 'Successful Response',
  headers: GUARDS_HEADER,
  content: {
    'application/json': {
      schema: { anyOf: [{ $ref: getSchemaPath(type) }, { $ref: getSchemaPath(DryRunResponse) }] },
      examples: {
        delivered: { summary: 'The order was executed', value: delivered },
        dry_run: { summary: 'A dry run: it would be executed', value: WOULD_BE_PLACED },
        dry_run_refused: {
          summary: 'A dry run: it would be refused with 409',
          value: WOULD_BE_REFUSED,
        },
      },
    },
  },
});
