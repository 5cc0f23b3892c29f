import { type Description, isObject, type Json, operationsOf, type Parameter } from './description';
import type { RawRequest } from './raw-http';
import { SeededRandom } from './seeded-random';

/** Fitting values by parameter or field, or by operation and name: `POST /renewals/rules target`. */
export type World = Readonly<Record<string, string | number | boolean | null>>;

export interface FuzzCase {
  readonly operation: string;
  readonly what: string;
  readonly request: RawRequest;
  readonly listed: readonly string[];
}

const MANY = 'x'.repeat(5000);

/** Hostile, escaped texts of a path or query. The first ones are tried in every place. */
const TEXTS = [
  '%00',
  'a%00b',
  '%ED%A0%80',
  '%FF%FE',
  MANY,
  '-1',
  '9'.repeat(40),
  '%',
  '%zz',
  '__proto__',
  'null',
  'true',
  '%20%20',
  '1e999',
  'NaN',
  '1.5',
  '%D9%A3',
  '[]',
  '%7B%7D',
  '%27%3B--',
  '%0D%0AX-A:b',
  '%F0%9F%92%A5',
  '2026-02-30',
  '0001-01-01T00:00:00Z',
  '9999-12-31T23:59:59-23:59',
  '%2B275760-09-13T00:00:00Z',
] as const;
const TEXTS_EVERYWHERE = 10;

/** Hostile values of a field, as JSON or nearly JSON. The first ones are tried in every place. */
export const VALUES = [
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00x"',
  `"${MANY}"`,
  'null',
  'true',
  '-1',
  '[]',
  '{"a":1}',
  `"${'x'.repeat(60_000)}"`,
  '"\u0000"',
  '""',
  '"  "',
  '0',
  '1.5',
  '-0',
  '1e400',
  'NaN',
  '9007199254740993',
  '9'.repeat(400),
  '"NaN"',
  '[null]',
  '["\\u0000"]',
  '[[[]]]',
  `[${'"a",'.repeat(2000)}"a"]`,
  '{"constructor":{"prototype":{"polluted":true}}}',
  '"2026-02-30T00:00:00Z"',
  '"0001-01-01T00:00:00Z"',
  '"+275760-09-13T00:00:00.000Z"',
  '"9999-12-31T23:59:59.999999999-23:59"',
  '"::ffff:0:0/200"',
  '"\\udfff\\ud800"',
  '"\u{1f4a9}\u202e\ufffe"',
  `"'; DROP TABLE proxies; --"`,
  '"../../etc/passwd"',
  '"__proto__"',
  '"constructor"',
  '"1e309"',
  '"9999999999"',
  '-9999999999',
  '9'.repeat(5000),
  '['.repeat(500) + ']'.repeat(500),
  `${'{"a":'.repeat(500)}1${'}'.repeat(500)}`,
  '['.repeat(20_000) + ']'.repeat(20_000),
  '['.repeat(90_000),
] as const;
const VALUES_EVERYWHERE = 10;

const HEADERS = [
  '',
  ' ',
  '\u00e9',
  'x'.repeat(256),
  '"a"',
  'a\tb',
  'a b',
  '*',
  'W/"',
  'x'.repeat(20_000),
] as const;

const BODIES: readonly (string | Buffer)[] = [
  '',
  'null',
  '[]',
  '"text"',
  '{',
  '{"a":}',
  '[1e400]',
  '{"reason":"a","reason":null}',
  Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]),
  Buffer.from('{"reason":"\u0000"}', 'utf16le'),
  '['.repeat(50_000),
  ' '.repeat(110_000),
];

const TYPES = [
  'text/plain',
  'application/xml',
  'application/json; charset=latin1',
  'multipart/form-data',
  ';',
] as const;

type Described = ReturnType<typeof operationsOf>[number];

/** A valid request per operation, one for each place and hostile value, and `random` with several values. */
export function fuzzCases(
  description: Description,
  world: World,
  options: { readonly seed: number; readonly random: number },
): { readonly valid: readonly FuzzCase[]; readonly hostile: readonly FuzzCase[] } {
  const dice = new SeededRandom(options.seed);
  const drafts = operationsOf(description).map((operation) => new Draft(operation, description, world, dice));
  const [first, ...others] = drafts;
  if (!first) throw new Error('the description has no operations');
  const systematic = drafts.flatMap((draft) => draft.systematic());
  const more = Array.from({ length: options.random }, () => dice.pick([first, ...others]).random());
  const valid = drafts.map((draft) => draft.valid());
  return {
    // Requests that delete something come last.
    valid: valid.toSorted((one, other) => takesAway(one) - takesAway(other)),
    hostile: [...systematic, ...more],
  };
}

function takesAway({ operation }: FuzzCase): number {
  if (!operation.startsWith('DELETE ')) return 0;
  return operation.includes('{') ? 1 : 2;
}

interface Parts {
  readonly path: Record<string, string>;
  /** Pairs, because a name can be repeated. */
  readonly query: [string, string][];
  readonly headers: Record<string, string>;
  /** Null when the operation takes no body. */
  body: Record<string, string> | string | Buffer | null;
}

type Mutation = readonly [what: string, mutate: (parts: Parts) => void];

class Draft {
  private readonly parameters: readonly Parameter[];
  private keys = 0;

  constructor(
    private readonly described: Described,
    private readonly description: Description,
    private readonly world: World,
    private readonly dice: SeededRandom,
  ) {
    this.parameters = described.operation.parameters ?? [];
  }

  valid(): FuzzCase {
    return this.request([], false);
  }

  systematic(): FuzzCase[] {
    return this.places().flatMap(({ hostile, everywhere }) =>
      hostile.slice(0, everywhere).map((mutation) => this.request([mutation])),
    );
  }

  random(): FuzzCase {
    const places = this.dice.shuffle(this.places()).slice(0, this.dice.integer(1, 3));
    return this.request(
      places.map(({ hostile }) => this.dice.pick(hostile as readonly [Mutation, ...Mutation[]])),
    );
  }

  private places(): { readonly hostile: readonly Mutation[]; readonly everywhere: number }[] {
    const places = this.parameters.flatMap(({ in: place, name }) => {
      if (place === 'path') {
        // A slash or an empty text would change the path.
        return [
          {
            hostile: TEXTS.map((text): Mutation => [`path ${name}=${text}`, inPath(name, text)]),
            everywhere: TEXTS_EVERYWHERE,
          },
        ];
      }
      if (place === 'header') {
        return [
          {
            hostile: HEADERS.map((text): Mutation => [`header ${name}: ${text}`, inHeader(name, text)]),
            everywhere: HEADERS.length,
          },
        ];
      }
      const hostile = ['', ...TEXTS].map((text): Mutation => [`query ${name}=${text}`, inQuery(name, text)]);
      const again = TEXTS.map((text): Mutation => [`query ${name} twice, ${text}`, inQueryAgain(name, text)]);
      return [{ hostile: [...hostile, ...again], everywhere: TEXTS_EVERYWHERE + 1 }];
    });
    const anywhere = ['x-request-id', 'accept', 'if-none-match', 'content-type', 'authorization'].map(
      (name) => ({
        hostile: HEADERS.map((text): Mutation => [`header ${name}: ${text}`, inHeader(name, text)]),
        everywhere: 0,
      }),
    );
    const unknown: Mutation[] = TEXTS.map((text) => [`query ?${text}`, inQuery(text, text)]);
    const bodies = this.body() ? this.bodyPlaces() : [];
    return [...places, ...bodies, ...anywhere, { hostile: unknown, everywhere: 1 }];
  }

  private bodyPlaces() {
    const fields = [...Object.keys(this.body() ?? {}), 'unknown', '__proto__'].map((name) => ({
      hostile: VALUES.map((value): Mutation => [`body ${name}=${value}`, inBody(name, value)]),
      everywhere: VALUES_EVERYWHERE,
    }));
    const whole = {
      hostile: BODIES.map((body): Mutation => [`body ${body.toString().slice(0, 50)}`, asBody(body)]),
      everywhere: BODIES.length,
    };
    const types = {
      hostile: TYPES.map((type): Mutation => [`body as ${type}`, inHeader('content-type', type)]),
      everywhere: TYPES.length,
    };
    return [...fields, whole, types];
  }

  private request(mutations: readonly Mutation[], withOptions = true): FuzzCase {
    const { name, method, path, operation } = this.described;
    const parts = this.validParts(withOptions);
    for (const [, mutate] of mutations) mutate(parts);
    const target = path.replaceAll(/\{(\w+)\}/g, (_, parameter: string) => parts.path[parameter] ?? '');
    const query = parts.query.map(([key, value]) => `${key}=${value}`).join('&');
    const { body } = parts;
    const isFields = body !== null && typeof body === 'object' && !Buffer.isBuffer(body);
    return {
      operation: name,
      what: mutations.map(([what]) => what.slice(0, 120)).join('; ') || 'a valid request',
      listed: Object.keys(operation.responses),
      request: {
        method,
        path: query === '' ? target : `${target}?${query}`,
        headers: parts.headers,
        ...(body !== null && { body: isFields ? toJson(body) : body }),
      },
    };
  }

  /** Executable requests, so that hostile values reach code behind the validation. */
  private validParts(withOptions: boolean): Parts {
    const parts: Parts = { path: {}, query: [], headers: {}, body: null };
    for (const { name, in: place, required, schema } of this.parameters) {
      const valid = this.valueOf(name, schema);
      const value = typeof valid === 'string' ? valid : JSON.stringify(valid);
      if (place === 'path') parts.path[name] = encodeURIComponent(value);
      else if (place === 'header' && name === 'Idempotency-Key') parts.headers[name] = this.newKey();
      else if (place === 'query' && (required || (withOptions && this.dice.chance(0.3)))) {
        parts.query.push([name, encodeURIComponent(value)]);
      }
    }
    const fields = this.body();
    if (fields) {
      const values = Object.entries(fields).map(([name, schema]) => [
        name,
        JSON.stringify(this.valueOf(name, schema)),
      ]);
      parts.body = Object.fromEntries(values) as Record<string, string>;
      parts.headers['content-type'] = 'application/json';
    }
    return parts;
  }

  private newKey(): string {
    this.keys += 1;
    return `fuzz-${this.described.name.replaceAll(/\W+/g, '-')}-${this.keys}`;
  }

  private body(): Record<string, Json> | null {
    return this.fieldsOf(this.described.operation.requestBody?.content['application/json']?.schema);
  }

  private fieldsOf(schema: Json | undefined): Record<string, Json> | null {
    if (!isObject(schema)) return null;
    const { $ref: reference, properties, allOf, anyOf } = schema;
    if (typeof reference === 'string') {
      return this.fieldsOf(this.description.components.schemas[reference.split('/').at(-1) ?? '']);
    }
    if (Array.isArray(allOf)) return this.fieldsOf(allOf[0]);
    if (Array.isArray(anyOf)) return this.fieldsOf(anyOf[0]);
    return isObject(properties) ? properties : null;
  }

  private valueOf(name: string, schema: Json): Json {
    const known = this.world[`${this.described.name} ${name}`] ?? this.world[name];
    if (known !== undefined) return known;
    if (!isObject(schema)) return 'text';
    const { type, format, default: usual, enum: words, pattern, items, anyOf } = schema;
    if (Array.isArray(anyOf)) return this.valueOf(name, anyOf[0] ?? null);
    const fields = this.fieldsOf(schema);
    if (fields) {
      return Object.fromEntries(Object.entries(fields).map(([each, of]) => [each, this.valueOf(each, of)]));
    }
    if (usual !== undefined) return usual;
    if (Array.isArray(words) && words[0] !== undefined) return words[0];
    if (type === 'array') return [this.valueOf(`${name}[]`, items ?? null)];
    if (type === 'integer') return 1;
    if (type === 'boolean') return false;
    if (format === 'date') return name === 'to' ? '2026-12-01' : '2026-11-01';
    if (format === 'date-time') return name === 'from' ? '2026-11-01T00:00:00Z' : '2100-01-01T00:00:00Z';
    return (typeof pattern === 'string' && /^\^\(([\w-]+)[|)]/.exec(pattern)?.[1]) || 'text';
  }
}

const inPath = (name: string, text: string) => (parts: Parts) => void (parts.path[name] = text);
const inHeader = (name: string, text: string) => (parts: Parts) => {
  for (const key of Object.keys(parts.headers)) {
    if (key.toLowerCase() === name.toLowerCase()) delete parts.headers[key];
  }
  parts.headers[name] = text;
};
const inQuery = (name: string, text: string) => (parts: Parts) => {
  parts.query.splice(0, parts.query.length, ...parts.query.filter(([key]) => key !== name), [name, text]);
};
const inQueryAgain = (name: string, text: string) => (parts: Parts) =>
  void parts.query.push([name, text], [name, text]);
const inBody = (name: string, json: string) => (parts: Parts) => {
  if (parts.body !== null && typeof parts.body === 'object' && !Buffer.isBuffer(parts.body)) {
    // Unlike an assignment, this works for `__proto__`.
    Object.defineProperty(parts.body, name, { value: json, enumerable: true, configurable: true });
  }
};
const asBody = (body: string | Buffer) => (parts: Parts) => void (parts.body = body);

const toJson = (fields: Readonly<Record<string, string>>): string =>
  `{${Object.entries(fields)
    .map(([name, json]) => `${JSON.stringify(name)}:${json}`)
    .join(',')}}`;

/** Request lines and headers with a NUL, which no HTTP client sends. */
export const rawNuls = ({ method, path }: Described, token: string): string[] =>
  [`${path}?a=\u0000`, path].map((target, n) =>
    [
      `${method} ${target.replaceAll(/\{\w+\}/g, '1')} HTTP/1.1`,
      'Host: 127.0.0.1',
      `Authorization: Bearer ${token}`,
      `X-Request-Id: ${n === 1 ? '\u0000' : 'fuzz'}`,
      'Connection: close',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
