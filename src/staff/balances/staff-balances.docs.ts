import { INVALID_PERIOD, LIMIT_TOO_LARGE } from '../../http';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import { type LedgerEntryOut, LedgerPage, PostingOut, PostingRequest } from './staff-balances.dto';

const PostingDocs = (docs: { summary: string; description: string }) =>
  StaffDocs({
    summary: docs.summary,
    description: docs.description,
    body: PostingRequest,
    idempotencyKey: true,
    answer: { description: 'The ledger entry, with the balance after it', type: PostingOut },
    errors: {
      400: [
        'Nothing was changed',
        'Insufficient balance',
        'The amount must be above 0, at most 100000000.00, with at most two decimals',
      ],
      403: NOT_FOR_ONESELF,
      404: notFound('user'),
    },
    invalid: {
      type: 'greater_than',
      loc: ['body', 'amount'],
      msg: 'Input should be greater than 0',
      input: '0',
      ctx: { gt: 0 },
    },
  });

export const CreditDocs = () =>
  PostingDocs({
    summary: 'Credit a balance',
    description:
      'For accounting, when a payment has come in or a customer is compensated. `reference` names the ' +
      'document behind it: an invoice or a ticket.',
  });

export const DebitDocs = () =>
  PostingDocs({
    summary: 'Debit a balance',
    description:
      'For accounting, when a credit was a mistake or money is paid out. Takes at most what can be spent: ' +
      'money that is held for orders stays held.',
  });

const CAPTURED = {
  id: 1236,
  seq: 3,
  kind: 'capture',
  available_delta: '0.00',
  held_delta: '-25.08',
  available_after: '474.92',
  held_after: '0.00',
  order: { id: 815, kind: 'purchase', state: 'completed', link: '/staff/orders/815' },
  action: null,
  reason: null,
  reference: null,
  created_at: '2026-11-21T12:00:01.000Z',
} satisfies Record<keyof LedgerEntryOut, unknown>;

const CREDITED = {
  id: 1234,
  seq: 1,
  kind: 'topup',
  available_delta: '500.00',
  held_delta: '0.00',
  available_after: '500.00',
  held_after: '0.00',
  order: null,
  action: { id: 1001, via: 'api', user_id: 7, username: 'olga' },
  reason: 'Bank transfer',
  reference: 'invoice 2026-1107',
  created_at: '2026-11-21T11:00:00.000Z',
} satisfies Record<keyof LedgerEntryOut, unknown>;

const LEDGER = {
  items: [
    CAPTURED,
    {
      ...CAPTURED,
      id: 1235,
      seq: 2,
      kind: 'hold',
      available_delta: '-25.08',
      held_delta: '25.08',
      held_after: '25.08',
      created_at: '2026-11-21T12:00:00.000Z',
    },
    CREDITED,
  ],
  next_cursor: null,
} satisfies Record<keyof LedgerPage, unknown>;

export const ReadLedgerDocs = () =>
  StaffDocs({
    summary: 'Show the ledger of a user',
    description:
      'For support, to explain a balance: every change of it, newest first, with what caused it (an ' +
      'order, or a member of staff) and the balance after it.',
    answer: { description: 'A page of entries, newest first', type: LedgerPage, example: LEDGER },
    errors: { 404: notFound('user') },
    invalid: LIMIT_TOO_LARGE,
  });

export const ReadStatementDocs = () =>
  StaffDocs({
    summary: 'Download a statement as CSV',
    description:
      'For accounting, and for customers who ask: a file of every change of a balance in a period, in the ' +
      'order of `seq`, so that each line follows from the one before. `from` is included and `to` is not.',
    answer: {
      description: 'A CSV file (RFC 4180) whose first line has the names of the columns',
      content: {
        'text/csv': {
          schema: { type: 'string' },
          example:
            'seq,created_at,kind,available_delta,held_delta,available_after,held_after,order_id,reference,' +
            'reason\r\n' +
            '1,2026-11-21T12:00:00.000000Z,topup,500.00,0.00,500.00,0.00,,invoice 2026-1107,' +
            'Bank transfer\r\n',
        },
      },
    },
    errors: { 400: INVALID_PERIOD, 404: notFound('user') },
    invalid: {
      type: 'timezone_aware',
      loc: ['query', 'from'],
      msg: 'Input should have timezone info',
      input: '2026-11-01T00:00:00',
    },
  });
