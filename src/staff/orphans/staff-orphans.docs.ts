import { missing, notOneOf, oneOf } from '../../http';
import { ORPHAN_STATES, OrphanOut } from '../../inventory';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import { AssignmentRequest, DeliveryRequest, MarkRequest, OrphansPage } from './staff-orphans.dto';

export const ListOrphansDocs = () =>
  StaffDocs({
    summary: 'List orphans',
    description:
      'For support and accounting: proxies that the provider lists under our tags and that no order ' +
      'accounts for, newest first. `state` is `open`, `assigned` or `written-off`; without it, orphans in ' +
      'every state are listed.',
    answer: { description: 'A page of orphans, newest first', type: OrphansPage },
    invalid: notOneOf('state', oneOf(ORPHAN_STATES), 'lost'),
  });

export const AssignOrphanDocs = () =>
  StaffDocs({
    summary: 'Assign an orphan',
    description:
      'For support, when it is clear whose proxy it is: the user of the named purchase gets it free of ' +
      'charge. To charge for it, debit the balance as well. An assignment cannot be undone.',
    body: AssignmentRequest,
    answer: { description: 'The orphan as it is now', type: OrphanOut },
    errors: {
      403: NOT_FOR_ONESELF,
      404: notFound('orphan', 'order'),
      409: [
        'Nothing was changed',
        'The orphan is assigned to an order already',
        'Orphans are assigned to purchases that are closed',
        'The proxy belongs to another order',
      ],
    },
    invalid: missing('body', 'reason'),
  });

export const DeliverOrphanDocs = () =>
  StaffDocs({
    summary: 'Deliver orphans and charge for them',
    description:
      'For support, after the database was restored to an earlier moment: what was bought under a tag ' +
      'since becomes a purchase of the user again, at `price` for each. When the order that the tag names ' +
      'is forgotten, the purchase gets its number. The tag names the first order of a batch alone: what is ' +
      'beyond that order belongs to others, who get theirs with `count`.',
    body: DeliveryRequest,
    answer: { description: 'The orphan as it is now', type: OrphanOut },
    errors: {
      400: ['The user has less than that', 'Insufficient balance'],
      403: NOT_FOR_ONESELF,
      404: notFound('orphan', 'user'),
      409: [
        'Nothing was changed',
        'The orphan is assigned to an order already',
        'Fewer orphans of this tag are undecided than were asked for',
        'Deliver first to the user whom the tag names what is theirs',
        'Orphans are assigned to purchases that are closed',
        'The provider does not tell the country or the version of this proxy',
        'The proxy belongs to another order',
      ],
    },
    invalid: missing('body', 'user_id'),
  });

export const MarkOrphanDocs = () =>
  StaffDocs({
    summary: 'Mark an orphan',
    description:
      'For accounting: `written-off` when the orphan belongs to nobody and stays our cost, `open` when ' +
      'somebody has to look into it again.',
    body: MarkRequest,
    answer: { description: 'The orphan as it is now', type: OrphanOut },
    errors: {
      404: notFound('orphan'),
      409: ['Nothing was changed', 'The orphan is assigned to an order already'],
    },
    invalid: missing('body', 'reason'),
  });
