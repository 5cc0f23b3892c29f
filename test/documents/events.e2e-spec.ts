import { join } from 'node:path';
import { EVENT_TYPES, type EventTypeDefinition } from '../../src/events';
import { expectGenerated, withPart, wrapped } from '../support/generated';

const DOCUMENT = join(__dirname, '../../docs/events.md');
const BEGIN = '<!-- Generated from src/events/event-types.ts by `npm run generate:events`. -->\n';
const END = '<!-- End of the list. -->\n';

/** Types with the same fields are listed together. */
function list(): string {
  const groups = new Map<string, [name: string, definition: EventTypeDefinition][]>();
  for (const [name, definition] of Object.entries<EventTypeDefinition>(EVENT_TYPES)) {
    const fields = JSON.stringify(definition.data);
    groups.set(fields, [...(groups.get(fields) ?? []), [name, definition]]);
  }
  return [...groups.values()]
    .map((types) => {
      const names = types.map(([name, { description }]) => wrapped(`\`${name}\`: ${description}.`, '-'));
      const fields = Object.keys(types[0]?.[1].data ?? {}).map((field) => `\`${field}\``);
      return [...names, wrapped(fields.join(', '), '  -')].join('\n');
    })
    .join('\n');
}

describe('docs/events.md', () => {
  it('lists every type of event with its fields (npm run generate:events)', () => {
    expectGenerated(DOCUMENT, 'UPDATE_EVENTS', withPart(DOCUMENT, BEGIN, `\n${list()}\n\n`, END));
  });
});

describe('Each type of event', () => {
  it.each(Object.entries<EventTypeDefinition>(EVENT_TYPES))(
    'has an example with exactly its fields: %s',
    (_, { data, example }) => {
      expect(Object.keys(example).sort()).toEqual(Object.keys(data).sort());
    },
  );
});
