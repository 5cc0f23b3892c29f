import { missing } from '../../http';
import { RecoveryOut } from '../../inventory';
import { ReasonRequest } from '../fields';
import { StaffDocs } from '../staff-docs';

export const ReadRecoveryDocs = () =>
  StaffDocs({
    summary: 'Show the recovery after a restore',
    description:
      'For whoever keeps the service running, after the database was restored to an earlier moment: ' +
      'whether orders are shut, and what is left to be done until they can be opened. It is begun on the ' +
      'command line.',
    answer: { description: 'The recovery, or that there is none', type: RecoveryOut },
  });

export const EndRecoveryDocs = () =>
  StaffDocs({
    summary: 'End the recovery and open orders',
    description:
      'For whoever keeps the service running, when everything that was sold after the restored moment has ' +
      'been found and decided. It is refused before that.',
    body: ReasonRequest,
    answer: { description: 'Orders are open', type: RecoveryOut },
    errors: {
      409: [
        'Nothing was changed',
        'There is no recovery',
        'Orders stay shut: no sweep has told everything yet; 2 orphans are undecided',
      ],
    },
    invalid: missing('body', 'reason'),
  });
