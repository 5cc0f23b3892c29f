import { Option } from 'commander';
import { declaredFields, type FieldDescription, RequestInvalid, type RouteInput } from '../http';
import { CommandRequest, type TargetType } from '../staff';
import { parseId } from './options';

/** Parser for an option whose format differs from that of the request's field. */
interface Reader {
  /** Shown in the help, for example `<duration>`. */
  readonly argument: string;
  readonly description: string;
  readonly read: (text: string) => unknown;
}

export interface RouteCommand {
  /** Defaults to the command's name with dots: `users.create` for `users create`. */
  readonly action?: string;
  /** Replaces the route's description if that mentions the caller's token, because commands have no token. */
  readonly description?: string;
  /** Option names, keyed by parameter, where the two differ: `{ reason: 'why' }`. */
  readonly names?: Readonly<Record<string, string>>;
  readonly readers?: Readonly<Record<string, Reader>>;
  /** Defaults for parameters that the route requires but the command does not. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** DTOs of the body's nested objects, whose fields become options. */
  readonly objects?: Readonly<Record<string, { readonly prototype: object }>>;
  /** Maximum number of items that a list prints. If set, the command has no paging options. */
  readonly showsAll?: number;
  /** Requires the author's name as an option. Over HTTP, the author is the caller. */
  readonly isSigned?: true;
  readonly needsProvider?: (given: GivenOptions) => boolean;
}

export type GivenOptions = Readonly<Record<string, string | number | boolean | readonly string[]>>;
/** Named as in validation errors. */
type Place = 'path' | 'header' | 'query' | 'body';

export interface Parameter {
  readonly place: Place;
  readonly name: string;
  /** Name of the nested object in the body, if the field belongs to one. */
  readonly within?: string;
  readonly option: Option;
}

/** Option names by parameter, for parameters that every command renames. */
const NAMES: Readonly<Record<string, string>> = {
  user_id: 'user',
  order_id: 'order',
  cursor: 'before',
  'Idempotency-Key': 'key',
};

const READERS: Readonly<Record<string, Reader>> = {
  cursor: { argument: '<id>', description: 'The last id on the previous page', read: parseId },
  limit: { argument: '<count>', description: 'The maximum number of rows', read: parseId },
};

/** Higher than the HTTP page limit, because command output is often saved or searched. */
const MAX_ITEMS = 1000;

export function* parametersOf(
  input: RouteInput,
  target: TargetType | undefined,
  spec: RouteCommand,
): Generator<Parameter> {
  for (const { name } of input.path) {
    const id = {
      schema: { type: 'integer' },
      description: `The ${target?.replace('-', ' ')}`,
      isRequired: true,
    };
    const names = { [name]: target === 'user' ? 'user' : 'id', ...spec.names };
    yield { place: 'path', name, option: toOption(name, id, { ...spec, names }) };
  }
  for (const place of ['query', 'body'] as const) {
    for (const [name, field] of declaredFields(input[place]?.prototype ?? {})) {
      const of = spec.objects?.[name];
      if (of) {
        for (const [inner, { schema, description }] of declaredFields(of.prototype)) {
          const option = toOption(inner, { schema, description, isRequired: false }, spec);
          yield { place, within: name, name: inner, option };
        }
      } else if (spec.showsAll === undefined || (name !== 'cursor' && name !== 'limit')) {
        yield { place, name, option: toOption(name, field, spec) };
      }
    }
  }
  for (const { name } of input.header) {
    const key = {
      schema: {},
      description: 'Idempotency key; the command is executed once per key',
      isRequired: true,
    };
    yield { place: 'header', name, option: toOption(name, key, spec) };
  }
}

function toOption(name: string, field: FieldDescription, spec: RouteCommand): Option {
  const { schema, isRequired } = field;
  const reader = spec.readers?.[name] ?? READERS[name];
  const {
    argument = argumentOf(schema),
    description = field.description,
    read = readerOf(schema),
  } = reader ?? {};
  const flag = `--${(spec.names?.[name] ?? NAMES[name] ?? name).replaceAll('_', '-')}`;
  const option = new Option(`${flag} ${argument}`.trim(), description).argParser(read);
  if (Array.isArray(schema['enum'])) option.choices(schema['enum'] as string[]);
  const fallback = name === 'limit' ? MAX_ITEMS : (schema['default'] ?? spec.defaults?.[name]);
  // Booleans have no default: without the option, the field is omitted.
  return fallback === undefined || schema['type'] === 'boolean'
    ? option.makeOptionMandatory(isRequired)
    : option.default(fallback);
}

/** Returns invalid numbers as text; validation refuses them later. */
function readerOf({ type }: FieldDescription['schema']): (text: string) => unknown {
  if (type === 'integer') return (text) => (/^-?\d+$/.test(text) ? Number(text) : text);
  if (type === 'array') return (text) => text.split(',').map((item) => item.trim());
  return (text) => text;
}

function argumentOf({ type, format, anyOf }: FieldDescription['schema']): string {
  if (type === 'boolean') return '';
  if (type === 'integer') return '<number>';
  if (type === 'array') return '<list>';
  if (format === 'date-time') return '<moment>';
  if (format === 'date') return '<day>';
  if (Array.isArray(anyOf)) return 'format' in (anyOf[0] as object) ? '<day>' : '<roubles>';
  return '<text>';
}

/** Omits the page limit, because a command may list more items than a page over HTTP can contain. */
export function toRequest(parameters: readonly Parameter[], given: GivenOptions): CommandRequest {
  const parts: Record<Place, Record<string, unknown>> = { path: {}, header: {}, query: {}, body: {} };
  for (const { place, within, name, option } of parameters) {
    const value = given[option.attributeName()];
    if (value === undefined || name === 'limit') continue;
    // Only values in the body keep their type.
    if (place !== 'body') parts[place][name] = String(value);
    else if (within === undefined) parts.body[name] = value;
    else parts.body[within] = Object.assign({}, parts.body[within], { [name]: value });
  }
  const { path, header, query, body } = parts as Record<Place, Record<string, string>>;
  return new CommandRequest(path, query, body, header, given['by']?.toString());
}

/** Formats validation errors like Commander's own. Rethrows any other error. */
export function describeRefusal(error: unknown, parameters: readonly Parameter[]): string {
  if (!(error instanceof RequestInvalid)) throw error;
  const lines = error.items.map(({ type, loc: [place, ...names], msg, input }) => {
    const found = parameters.find((one) => one.place === place && names.includes(one.name));
    const flags = found?.option.flags ?? names.join('.');
    if (type === 'missing') return `required option '${flags}' not specified`;
    const argument = typeof input === 'string' ? input : JSON.stringify(input);
    return `option '${flags}' argument '${argument}' is invalid. ${msg}.`;
  });
  return `error: ${lines.join(' ')}`;
}
