import { applyDecorators } from '@nestjs/common';
import { ApiQuery } from '@nestjs/swagger';
import { missing } from '../../http';
import { StatusOut } from '../../status';
import { StaffDocs } from '../staff-docs';
import { SalesPage } from './staff-system.dto';

export const ReadStatusDocs = () =>
  StaffDocs({
    summary: 'Show the state of the service',
    description:
      'For whoever keeps the service running: our balance at the provider and how long it lasts at the ' +
      'present rate, the open orders and those for staff to decide, the age of the catalog, the last run ' +
      'of each job, and the circuit breakers and queues of each replica.',
    answer: { description: 'The present state', type: StatusOut },
  });

export const ReadSalesDocs = () =>
  applyDecorators(
    StaffDocs({
      summary: 'Show sales, cost and margin',
      description:
        'For accounting and whoever makes the prices: what was sold and refunded, what it cost and what ' +
        'remains, by any of day, country and version. An order counts on the day (UTC) on which it was ' +
        'closed, a refund on the day on which it was made. `from` is included and `to` is not; a period ' +
        'has at most 366 days. The latest day comes first, then countries and versions follow in order. ' +
        'Days without sales and refunds are left out.',
      answer: { description: 'A page of sums, with the total of the whole period', type: SalesPage },
      errors: {
        400: [
          'The period or the cursor is not possible',
          'The period must end after it begins, and have 366 days at most',
          'This cursor is from a list with another `by`: leave it out to begin anew',
        ],
      },
      invalid: missing('query', 'from'),
    }),
    ApiQuery({ name: 'from', example: '2026-11-01' }),
    ApiQuery({ name: 'to', example: '2026-12-01' }),
    ApiQuery({
      name: 'by',
      required: false,
      description: 'Any of day, country and version, separated by commas',
      example: 'day',
    }),
  );
