import { getSchemaPath } from '@nestjs/swagger';
import { EventDto } from '../events';

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
  example,
});

/** The request that delivers an event to a webhook, for the description of the API. */
export const EVENT_WEBHOOKS = {
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: ['Webhooks'],
      summary: 'An event',
      description:
        'The service sends each event to the URL of a webhook in the form of Standard Webhooks. An event ' +
        'may come more than once, and events come in any order.',
      security: [],
      parameters: [
        header('webhook-id', 'The `id` of the event, the same with each attempt', 'evt_1742'),
        header('webhook-timestamp', 'When this attempt began, in seconds since 1970', '1795348801'),
        header('webhook-signature', 'One for each secret that is valid, separated by a space', 'v1,K5oZf…'),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: getSchemaPath(EventDto) } } },
      },
      responses: {
        '2XX': { description: 'Within 15 seconds: the event is delivered' },
        '410': { description: 'The webhook is disabled' },
        default: { description: 'The event is sent again later' },
      },
    },
  },
};
