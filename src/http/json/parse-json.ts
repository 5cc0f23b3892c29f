import type { JsonObject, JsonValue } from './json-value';

/** Approximate nesting depth at which Python's parser reaches its default recursion limit. */
const MAX_DEPTH = 900;
/** Python's limit on an integer's number of digits. */
const MAX_INTEGER_DIGITS = 4300;

/** Matches a quote, a backslash or a control character. */
const NOT_PLAIN = /[^ !#-[\]-\uffff]/g;
const HEX_4 = /[0-9a-fA-F]{4}/y;
const NUMBER = /(-?(?:0|[1-9][0-9]*))(\.[0-9]+)?([eE][-+]?[0-9]+)?/y;
/** Number of digits up to which JavaScript's numbers are exact. */
const EXACT_DIGITS = 15;
const [QUOTE, COMMA, COLON, BACKSLASH, MINUS] = [0x22, 0x2c, 0x3a, 0x5c, 0x2d];
const OBJECT = { name: 'object', open: 0x7b, close: 0x7d } as const;
const ARRAY = { name: 'array', open: 0x5b, close: 0x5d } as const;
const [SPACE, TAB, LINE_FEED, RETURN] = [0x20, 0x09, 0x0a, 0x0d];
const [ZERO, NINE] = [0x30, 0x39];
const [POINT, SMALL_E, LARGE_E] = [0x2e, 0x65, 0x45];
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

/** `message` and `position` (in code points) are those of Python 3.13's json module. */
export class JsonSyntaxError extends Error {
  constructor(
    message: string,
    readonly position: number,
  ) {
    super(message);
  }
}

export class JsonTooComplexError extends Error {}

/**
 * Parses JSON exactly like Python's json module: a 422 response contains Python's messages and positions.
 * @throws JsonSyntaxError, JsonTooComplexError
 */
export function parseJson(text: string): JsonValue {
  return new JsonReader(text).readDocument();
}

/** Compares character codes, because regular expressions take three times as long. */
class JsonReader {
  private index = 0;
  private depth = 0;

  constructor(private readonly text: string) {}

  readDocument(): JsonValue {
    this.skipSpace();
    const value = this.readValue();
    this.skipSpace();
    if (this.index < this.text.length) this.fail('Extra data');
    return value;
  }

  private readValue(): JsonValue {
    const first = this.text.charCodeAt(this.index);
    if (first === QUOTE) return this.readString();
    if (first === OBJECT.open) return this.readObject();
    if (first === ARRAY.open) return this.readArray();
    return this.readNumber(first) ?? this.readLiteral();
  }

  private readObject(): JsonObject {
    // Without a prototype, the object accepts a name such as `__proto__`.
    const object: Record<string, JsonValue> = Object.create(null);
    if (this.begin(OBJECT)) return object;
    do {
      if (this.text.charCodeAt(this.index) !== QUOTE) {
        this.fail('Expecting property name enclosed in double quotes');
      }
      const name = this.readString();
      if (this.skipSpace() !== COLON) this.fail("Expecting ':' delimiter");
      this.index++;
      this.skipSpace();
      object[name] = this.readValue();
    } while (!this.atEndOf(OBJECT));
    return object;
  }

  private readArray(): JsonValue[] {
    const array: JsonValue[] = [];
    if (this.begin(ARRAY)) return array;
    do array.push(this.readValue());
    while (!this.atEndOf(ARRAY));
    return array;
  }

  /** Enters an array or object. If it is empty, leaves it immediately and returns true. */
  private begin({ close }: typeof OBJECT | typeof ARRAY): boolean {
    if (++this.depth > MAX_DEPTH) throw new JsonTooComplexError('nested too deeply');
    this.index++;
    return this.skipSpace() === close && this.end();
  }

  private atEndOf({ name, close }: typeof OBJECT | typeof ARRAY): boolean {
    const next = this.skipSpace();
    if (next === close) return this.end();
    const comma = this.index;
    if (next !== COMMA) this.fail("Expecting ',' delimiter");
    this.index++;
    if (this.skipSpace() === close) this.fail(`Illegal trailing comma before end of ${name}`, comma);
    return false;
  }

  private end(): true {
    this.index++;
    this.depth--;
    return true;
  }

  private readString(): string {
    const start = this.index++;
    let value = '';
    for (;;) {
      NOT_PLAIN.lastIndex = this.index;
      const end = NOT_PLAIN.test(this.text) ? NOT_PLAIN.lastIndex - 1 : this.text.length;
      value += this.text.slice(this.index, end);
      this.index = end;
      const next = this.text.charCodeAt(end);
      if (next === QUOTE) {
        this.index++;
        return value;
      }
      if (next === BACKSLASH) value += this.readEscape(start);
      else if (Number.isNaN(next)) this.fail('Unterminated string starting at', start);
      else this.fail('Invalid control character at');
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

  private readNumber(first: number): number | bigint | undefined {
    if (!isDigit(first) && first !== MINUS) return undefined;
    const short = this.readShortInteger(first);
    if (short !== undefined) return short;
    const match = this.match(NUMBER);
    if (!match) return undefined;
    const [literal, integer = '', fraction, exponent] = match;
    if (fraction !== undefined || exponent !== undefined) return Number(literal);
    if (integer.replace('-', '').length > MAX_INTEGER_DIGITS) {
      throw new JsonTooComplexError('an integer with too many digits');
    }
    return BigInt(integer);
  }

  /** Fast path. Returns undefined without advancing if the number is not a short integer. */
  private readShortInteger(first: number): bigint | undefined {
    let value = 0;
    let end = this.index;
    let next = first;
    while (isDigit(next) && end - this.index <= EXACT_DIGITS) {
      value = 10 * value + next - ZERO;
      next = this.text.charCodeAt(++end);
    }
    const count = end - this.index;
    const isWhole = next !== POINT && next !== SMALL_E && next !== LARGE_E;
    if (!isWhole || count === 0 || count > EXACT_DIGITS || (first === ZERO && count > 1)) return undefined;
    this.index = end;
    return BigInt(value);
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

  /** Returns the code of the next character after white space; NaN at the end. */
  private skipSpace(): number {
    for (;;) {
      const code = this.text.charCodeAt(this.index);
      if (code !== SPACE && code !== LINE_FEED && code !== RETURN && code !== TAB) return code;
      this.index++;
    }
  }

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

const isDigit = (code: number): boolean => code >= ZERO && code <= NINE;
