import { missing } from '../../http';
import { StaffDocs } from '../staff-docs';
import { MissingProxiesOut, WithdrawalRequest } from './staff-missing.dto';

export const ReadMissingDocs = () =>
  StaffDocs({
    summary: 'Show how many proxies are missing',
    description:
      'For whoever keeps the service running: rented proxies that were missing from two listings in a ' +
      'row and are too many to be believed. They are shown as active until they are withdrawn here, or ' +
      'are few enough for a sweep to do it. None is missing any more once the provider lists it again.',
    answer: { description: 'What a withdrawal would change', type: MissingProxiesOut },
  });

export const WithdrawMissingDocs = () =>
  StaffDocs({
    summary: 'Withdraw the proxies that are missing',
    description:
      'For whoever keeps the service running, when the provider really no longer has them: they are shown ' +
      'as inactive until it lists them again. Nothing is refunded. `proxies` is the number that was shown; ' +
      'if another number is missing by now, nothing is changed.',
    body: WithdrawalRequest,
    answer: { description: 'What was withdrawn', type: MissingProxiesOut },
    errors: { 409: ['Nothing was changed', 'Another number of proxies is missing by now'] },
    invalid: missing('body', 'reason'),
  });
