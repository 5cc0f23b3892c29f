import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { EVENT_TYPES, type EventTypeDefinition } from '../src/events';

const DOCUMENT = join(__dirname, '../docs/events.md');
const WIDTH = 110;
const BEGIN = '<!-- Generated from src/events/event-types.ts by `npm run generate:events`. -->\n';
const END = '<!-- End of the list. -->\n';

/** Breaks a text into the lines of an entry of a list. */
function wrap(text: string, first: string): string {
  const indent = ' '.repeat(first.length + 1);
  const lines = [first];
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`;
    if (line.length <= WIDTH) lines[lines.length - 1] = line;
    else lines.push(`${indent}${word}`);
  }
  return lines.join('\n');
}

/** Types with the same fields are listed together. A field is explained where its meaning is new. */
function list(): string {
  const groups = new Map<string, [name: string, definition: EventTypeDefinition][]>();
  for (const [name, definition] of Object.entries<EventTypeDefinition>(EVENT_TYPES)) {
    const fields = JSON.stringify(definition.data);
    groups.set(fields, [...(groups.get(fields) ?? []), [name, definition]]);
  }
  const explained = new Map<string, string>();
  return [...groups.values()]
    .map((types) => {
      const names = types.map(([name, { description }]) => wrap(`\`${name}\`: ${description}.`, '-'));
      const fields = Object.entries(types[0]?.[1].data ?? {});
      const isNew = ([field, meaning]: [string, string]) => explained.get(field) !== meaning;
      const known = fields.filter((field) => !isNew(field)).map(([field]) => `\`${field}\``);
      const lines = fields.filter(isNew).map(([field, meaning]) => {
        explained.set(field, meaning);
        return wrap(`\`${field}\`: ${meaning}.`, '  -');
      });
      return [...names, ...(known.length > 0 ? [wrap(known.join(', '), '  -')] : []), ...lines].join('\n');
    })
    .join('\n');
}

describe('docs/events.md', () => {
  it('lists every type of event with its fields (npm run generate:events)', () => {
    const document = readFileSync(DOCUMENT, 'utf8');
    const [before, rest = ''] = document.split(BEGIN);
    const after = rest.split(END)[1] ?? '';
    const expected = `${before}${BEGIN}\n${list()}\n\n${END}${after}`;
    if (process.env['UPDATE_EVENTS'] === '1') writeFileSync(DOCUMENT, expected);
    expect(readFileSync(DOCUMENT, 'utf8')).toBe(expected);
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
