import { missing, notOneOf, oneOf } from '../../http';
import { FOUND_PROLONGATION_STATES, FoundProlongationOut } from '../../inventory';
import { ReasonRequest } from '../fields';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import { ChargeRequest, FoundProlongationsPage } from './staff-prolongations.dto';

export const ListProlongationsDocs = () =>
  StaffDocs({
    summary: 'List found prolongations',
    description:
      'For support and accounting, after the database was restored to an earlier moment: prolongations ' +
      'that the provider shows and that no order accounts for, newest first. The proxies have their new ' +
      'end already.',
    answer: { description: 'A page of found prolongations, newest first', type: FoundProlongationsPage },
    invalid: notOneOf('state', oneOf(FOUND_PROLONGATION_STATES), 'lost'),
  });

export const ChargeProlongationDocs = () =>
  StaffDocs({
    summary: 'Charge a found prolongation',
    description: 'For support: the prolongation becomes an order of the user again, at `price`.',
    body: ChargeRequest,
    answer: { description: 'The found prolongation as it is now', type: FoundProlongationOut },
    errors: {
      400: ['The user has less than that', 'Insufficient balance'],
      403: NOT_FOR_ONESELF,
      404: notFound('found prolongation'),
      409: ['Nothing was changed', 'The found prolongation is decided already'],
    },
    invalid: missing('body', 'price'),
  });

export const WriteOffProlongationDocs = () =>
  StaffDocs({
    summary: 'Write a found prolongation off',
    description: 'For accounting: the user keeps the prolongation, and it stays our cost.',
    body: ReasonRequest,
    answer: { description: 'The found prolongation as it is now', type: FoundProlongationOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound('found prolongation'),
      409: ['Nothing was changed', 'The found prolongation is decided already'],
    },
    invalid: missing('body', 'reason'),
  });
