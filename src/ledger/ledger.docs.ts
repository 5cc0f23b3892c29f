import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import {
  ApiErrorResponse,
  ApiValidationErrorResponse,
  INVALID_PERIOD,
  LIMIT_TOO_LARGE,
  notOneOf,
} from '../http';
import { type BalanceChangeOut, BalanceChangesPage } from './balance-change.dto';
import { SHOWN_KINDS } from './shown-kind';

const CAPTURED = {
  seq: 3,
  created_at: '2026-11-21T12:00:01.000Z',
  kind: 'capture',
  order_id: 815,
  available_before: '974.92',
  available_delta: '0.00',
  available_after: '974.92',
  held_before: '25.08',
  held_delta: '-25.08',
  held_after: '0.00',
} satisfies Record<keyof BalanceChangeOut, unknown>;

const HELD = {
  ...CAPTURED,
  seq: 2,
  created_at: '2026-11-21T12:00:00.000Z',
  kind: 'hold',
  available_before: '1000.00',
  available_delta: '-25.08',
  held_before: '0.00',
  held_delta: '25.08',
  held_after: '25.08',
};

const CREDITED = {
  ...HELD,
  seq: 1,
  created_at: '2026-11-21T11:00:00.000Z',
  kind: 'credit',
  order_id: null,
  available_before: '0.00',
  available_delta: '1000.00',
  available_after: '1000.00',
  held_delta: '0.00',
  held_after: '0.00',
};

const PAGE = { items: [CAPTURED, HELD, CREDITED], next_cursor: null };

const FILE = [
  Object.keys(CAPTURED),
  ...[CREDITED, HELD, CAPTURED].map((entry) => Object.values({ ...entry, order_id: entry.order_id ?? '' })),
]
  .map((cells) => `${cells.join(',')}\r\n`)
  .join('');

export const LedgerDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Ledger',
      description:
        'Every change of the balance, newest first, a page at a time: send `next_cursor` as `cursor` ' +
        'until it is null. Each change begins with the balance that the one before it left, so that the ' +
        'pages add up to `GET /me`, also while orders are placed. With `Accept: text/csv` the response is ' +
        'that of `GET /ledger/csv`.',
    }),
    ApiOkResponse({ description: 'A page of changes', type: BalanceChangesPage, example: PAGE }),
    ApiErrorResponse(400, ...INVALID_PERIOD),
    ApiValidationErrorResponse(LIMIT_TOO_LARGE),
  );

export const LedgerFileDocs = () =>
  applyDecorators(
    ApiOperation({
      summary: 'Ledger as CSV',
      description: 'Every change of the balance until now as a file, oldest first.',
    }),
    ApiOkResponse({
      description: 'A CSV file (RFC 4180) whose first line has the names of the columns',
      content: { 'text/csv': { schema: { type: 'string' }, example: FILE } },
    }),
    ApiErrorResponse(400, ...INVALID_PERIOD),
    ApiValidationErrorResponse(notOneOf('kind', SHOWN_KINDS, 'gift')),
  );
