import type { JsonObject, JsonValue } from './json-value';

/** About the depth at which Python's parser gives up with its default recursion limit. */
const MAX_DEPTH = 900;
/** Python's limit on the digits of an integer. */
const MAX_INTEGER_DIGITS = 4300;

const WHITESPACE = /[ \t\n\r]*/y;
/** Anything but the quote, the backslash and control characters. */
const PLAIN_TEXT = /[ !#-[\]-\uffff]*/y;
const HEX_4 = /[0-9a-fA-F]{4}/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
const CLOSING = { object: '}', array: ']' } as const;
const LITERALS: JsonObject = { null: null, true: true, false: false, NaN, Infinity, '-Infinity': -Infinity };
const ESCAPES = new Map([
  ['"', '"'],
  ['\\', '\\'],
  ['/', '/'],
  ['b', '\b'],
  ['f', '\f'],
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
]);

/** The text is not JSON. `message` and `position` (in code points) are those of Python 3.13's json module. */
export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message);
  }
}

/** The text may be JSON, but is nested too deeply or holds too long an integer to be read. */
export class JsonTooComplexError extends Error {}

/**
 * Reads JSON as Python's json module does: integers are exact, `NaN` and `Infinity` are accepted, and the
 * last of duplicate names wins. `JSON.parse` cannot replace it: the 422 response has exactly Python's
 * messages, positions and integers.
 *
 * @throws JsonSyntaxError
 * @throws JsonTooComplexError
 */
export function parseJson(text: string): JsonValue {
  return new JsonReader(text).readDocument();
}

class JsonReader {
  private index = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  readDocument(): JsonValue {
    this.match(WHITESPACE);
    const value = this.readValue();
    this.match(WHITESPACE);
    if (this.index < this.text.length) this.fail('Extra data');
    return value;
  }

  private readValue(): JsonValue {
    const first = this.text[this.index];
    if (first === '"') return this.readString();
    if (first === '{') return this.nested(() => this.readObject());
    if (first === '[') return this.nested(() => this.readArray());
    return this.readNumber() ?? this.readLiteral();
  }

  private nested<Container>(read: () => Container): Container {
    if (++this.depth > MAX_DEPTH) throw new JsonTooComplexError('nested too deeply');
    this.index++;
    this.match(WHITESPACE);
    const container = read();
    this.index++;
    this.depth--;
    return container;
  }

  private readObject(): JsonObject {
    // An object without a prototype takes a name such as `__proto__` like any other.
    const object: Record<string, JsonValue> = Object.create(null);
    if (this.text[this.index] === '}') return object;
    for (;;) {
      if (this.text[this.index] !== '"') this.fail('Expecting property name enclosed in double quotes');
      const name = this.readString();
      this.match(WHITESPACE);
      if (this.text[this.index] !== ':') this.fail("Expecting ':' delimiter");
      this.index++;
      this.match(WHITESPACE);
      object[name] = this.readValue();
      if (this.atEndOf('object')) return object;
    }
  }

  private readArray(): JsonValue[] {
    const array: JsonValue[] = [];
    if (this.text[this.index] === ']') return array;
    for (;;) {
      array.push(this.readValue());
      if (this.atEndOf('array')) return array;
    }
  }

  private atEndOf(container: 'object' | 'array'): boolean {
    const closing = CLOSING[container];
    this.match(WHITESPACE);
    if (this.text[this.index] === closing) return true;
    const comma = this.index;
    if (this.text[comma] !== ',') this.fail("Expecting ',' delimiter");
    this.index++;
    this.match(WHITESPACE);
    if (this.text[this.index] === closing) {
      this.fail(`Illegal trailing comma before end of ${container}`, comma);
    }
    return false;
  }

  private readString(): string {
    const start = this.index++;
    let value = '';
    for (;;) {
      value += this.match(PLAIN_TEXT)?.[0] ?? '';
      switch (this.text[this.index]) {
        case '"':
          this.index++;
          return value;
        case '\\':
          value += this.readEscape(start);
          break;
        case undefined:
          return this.fail('Unterminated string starting at', start);
        default:
          return this.fail('Invalid control character at');
      }
    }
  }

  private readEscape(stringStart: number): string {
    const start = this.index;
    const letter = this.text[start + 1];
    if (letter === undefined) return this.fail('Unterminated string starting at', stringStart);
    this.index += 2;
    if (letter !== 'u') return ESCAPES.get(letter) ?? this.fail('Invalid \\escape', start);
    const digits = this.match(HEX_4)?.[0] ?? this.fail('Invalid \\uXXXX escape', start + 1);
    return String.fromCharCode(Number.parseInt(digits, 16));
  }

  private readNumber(): number | bigint | undefined {
    const match = this.match(NUMBER);
    if (!match) return undefined;
    const [literal, integer = '', fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) return Number(literal);
    if (integer.replace('-', '').length > MAX_INTEGER_DIGITS) {
      throw new JsonTooComplexError('an integer with too many digits');
    }
    return BigInt(integer);
  }

  private readLiteral(): JsonValue {
    for (const [literal, value] of Object.entries(LITERALS)) {
      if (this.text.startsWith(literal, this.index)) {
        this.index += literal.length;
        return value;
      }
    }
    return this.fail('Expecting value');
  }

  /** Advances past the match of a sticky pattern at the current index. */
  private match(pattern: RegExp): RegExpExecArray | null {
    pattern.lastIndex = this.index;
    const match = pattern.exec(this.text);
    if (match) this.index = pattern.lastIndex;
    return match;
  }

  private fail(message: string, index = this.index): never {
    throw new JsonSyntaxError(message, Array.from(this.text.slice(0, index)).length);
  }
}
