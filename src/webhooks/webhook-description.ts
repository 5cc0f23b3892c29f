import { getSchemaPath } from '@nestjs/swagger';
import { EventOut } from '../events';

const header = (name: string, description: string, example: string) => ({
  name,
  in: 'header' as const,
  required: true,
  description,
  schema: { type: 'string' as const },
  example,
});

/** Describes the request that delivers an event to a webhook, for the OpenAPI document. */
export const EVENT_WEBHOOKS = {
  event: {
    post: {
      operationId: 'receiveEvent',
      tags: ['Webhooks'],
      summary: 'Receive an event',
      description:
        'The service sends each event to the URL of a webhook in the Standard Webhooks format. An ' +
        'event may arrive more than once, and events may arrive in any order.',
      security: [],
      parameters: [
        header('webhook-id', 'The `id` of the event, the same for each attempt and replay', 'evt_1742'),
        header('webhook-timestamp', 'When this attempt started, in Unix seconds', '1795348801'),
        header(
          'webhook-signature',
          'A signature for each valid secret, separated by spaces. At least one of them must match',
          'v1,K5oZf…',
        ),
      ],
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: getSchemaPath(EventOut) } } },
      },
      responses: {
        '2XX': { description: 'The event counts as delivered if the response arrives within 15 seconds' },
        '410': { description: 'The webhook is disabled' },
        default: { description: 'The attempt failed, and the event will be sent again' },
      },
    },
  },
};
