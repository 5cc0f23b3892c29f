import { missing, notOneOf, oneOf } from '../../http';
import { RENEWAL_STATES } from '../../renewals';
import { notFound, StaffDocs } from '../staff-docs';
import { AllRenewalsOut, PauseRequest, RenewalsOfUserOut, RenewalsPage } from './staff-renewals.dto';

export const ListRenewalsDocs = () =>
  StaffDocs({
    summary: 'List renewals',
    description:
      'For support and whoever keeps the service running: what was renewed, what was not and why, newest ' +
      'first. `due=true` leaves only those whose time has come and that wait for the service or the ' +
      'provider. A renewal that is `skipped` is tried again until an hour before the end of its proxy.',
    answer: { description: 'A page of renewals, newest first', type: RenewalsPage },
    invalid: notOneOf('state', oneOf(RENEWAL_STATES), 'late'),
  });

export const PauseAllRenewalsDocs = () =>
  StaffDocs({
    summary: 'Pause all renewals, or let them go on',
    description:
      'For whoever keeps the service running, when renewals do harm: from now on no renewal is ordered. ' +
      'What is due is skipped with the reason `paused`, which its customers see, and is renewed once ' +
      'renewals go on, if its proxy has not ended by then. Orders that are placed already are carried out.',
    body: PauseRequest,
    answer: { description: 'Whether they are paused', type: AllRenewalsOut },
    invalid: missing('body', 'reason'),
  });

export const ReadRenewalsDocs = () =>
  StaffDocs({
    summary: 'Show what a user has renewed',
    description:
      'For support: the rules that the user has switched on, the budget, what of it is used up this month ' +
      '(UTC), and whether staff have paused the renewals of the user.',
    answer: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound('user') },
  });

export const PauseRenewalsDocs = () =>
  StaffDocs({
    summary: "Pause a user's renewals, or let them go on",
    description:
      'For support, when a customer is in doubt about what renews, or the money is in dispute. Rules stay ' +
      'as they are. What is due is skipped with the reason `paused`, which the customer sees, and is ' +
      'renewed once renewals go on, if the proxy has not ended by then.',
    body: PauseRequest,
    answer: { description: 'The rules and the budget', type: RenewalsOfUserOut },
    errors: { 404: notFound('user') },
    invalid: missing('body', 'reason'),
  });
