import { missing, notOneOf, oneOf } from '../../http';
import { ORPHAN_STATES, OrphanOut } from '../../orders';
import { NOT_FOR_ONESELF, notFound, StaffDocs } from '../staff-docs';
import { AssignmentRequest, MarkRequest, OrphansPage } from './staff-orphans.dto';

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
