import { LIMIT_TOO_LARGE, missing } from '../../http';
import { ReasonRequest } from '../fields';
import { notFound, StaffDocs } from '../staff-docs';
import { StaffWebhookOut, StaffWebhooksPage } from './staff-webhooks.dto';

export const ListWebhooksDocs = () =>
  StaffDocs({
    summary: 'List webhooks',
    description:
      'For support, when a customer gets no events: which webhooks are off, and which fail. Secrets and ' +
      'whole URLs are never shown. Newest first.',
    answer: { description: 'A page of webhooks, newest first', type: StaffWebhooksPage },
    invalid: LIMIT_TOO_LARGE,
  });

export const DisableWebhookDocs = () =>
  StaffDocs({
    summary: 'Switch a webhook off',
    description:
      'For operators, when an address must get nothing more. It holds for the receiver, which is the host ' +
      'and port: other webhooks of its customer there are switched off with it, and what the customer ' +
      'makes for it or moves to it is off, also when this webhook is deleted. The customer is told by an ' +
      'event, and cannot switch them on again. What is still to be sent waits. A webhook that is off ' +
      'already stays as it is, but for the reason: only staff can switch it on.',
    body: ReasonRequest,
    answer: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound('webhook') },
    invalid: missing('body', 'reason'),
  });

export const EnableWebhookDocs = () =>
  StaffDocs({
    summary: 'Switch a webhook on',
    description:
      'For operators, when the matter is settled. Events from now on are sent to it, and what waited since ' +
      'it was switched off. What else staff switched off at its receiver for this customer is on as well.',
    body: ReasonRequest,
    answer: { description: 'The webhook', type: StaffWebhookOut },
    errors: { 404: notFound('webhook') },
    invalid: missing('body', 'reason'),
  });
