import type { ProxyOut } from '../dto/proxy-out.dto';
import { authorityOf, percentEncode, schemeOf, type SocksScheme, urlOf } from './proxy-url';

/** In code points. */
export const MAX_TEMPLATE_LENGTH = 500;
/** Bounds the length of a line, together with MAX_TEMPLATE_LENGTH. */
const MAX_PLACEHOLDERS = 20;

type Value = (proxy: ProxyOut, socks: SocksScheme) => string;

const VALUES = {
  id: ({ id }) => id,
  type: ({ proxy_type: type }) => type,
  scheme: schemeOf,
  host: ({ host }) => host,
  port: ({ port }) => port,
  host_port: authorityOf,
  login: ({ login }) => login,
  login_encoded: ({ login }) => percentEncode(login),
  password: ({ password }) => password,
  password_encoded: ({ password }) => percentEncode(password),
  url: urlOf,
  country: ({ country }) => country,
  version: ({ version }) => version,
  date_start: ({ date_start: start }) => start ?? '',
  date_end: ({ date_end: end }) => end ?? '',
  active: ({ active }) => String(active),
  descr: ({ descr }) => descr ?? '',
} as const satisfies Record<string, Value>;

export const PLACEHOLDERS = Object.keys(VALUES) as readonly (keyof typeof VALUES)[];

/** Matches literal characters, an escape, a doubled brace, a placeholder, or any other character. */
const PARTS = /[^\\{}]+|\\[nt\\]|\{\{|\}\}|\{(?<name>[^{}]*)\}|[^]/g;
/** A map, because an object would inherit names such as `constructor`. */
const LITERALS: ReadonlyMap<string, string> = new Map([
  ['\\n', '\n'],
  ['\\t', '\t'],
  ['\\\\', '\\'],
  ['{{', '{'],
  ['}}', '}'],
]);
/** Templates contain tabs and line breaks only as escapes. */
const CONTROL = /\p{Cc}/u;

type Part = string | Value;

export class TemplateMistake extends Error {}

const isPlaceholder = (name: string): name is keyof typeof VALUES => Object.hasOwn(VALUES, name);

/** Before `://`, `{type}` becomes a scheme. For SOCKS proxies it is `socks5`, which every client knows. */
const schemeOfType: Value = (proxy) => schemeOf(proxy, 'socks5');

function readPart({ 0: text, 1: name, index, input }: RegExpExecArray): Part {
  if (name !== undefined) {
    if (name === 'type' && input.startsWith('://', index + text.length)) return schemeOfType;
    if (isPlaceholder(name)) return VALUES[name];
    throw new TemplateMistake(`unknown placeholder {${name}}; use one of ${PLACEHOLDERS.join(', ')}`);
  }
  if (text === '\\') throw new TemplateMistake('a backslash must be followed by n, t or another backslash');
  if (text === '{' || text === '}') {
    throw new TemplateMistake('unbalanced brace; write a literal brace as two braces');
  }
  return LITERALS.get(text) ?? text;
}

/** @throws TemplateMistake */
function readTemplate(template: string): readonly Part[] {
  if (CONTROL.test(template)) throw new TemplateMistake('control characters are not allowed');
  const parts = [...template.matchAll(PARTS)].map(readPart);
  if (parts.filter((part) => typeof part !== 'string').length > MAX_PLACEHOLDERS) {
    throw new TemplateMistake(`at most ${MAX_PLACEHOLDERS} placeholders are allowed`);
  }
  return parts;
}

export function findTemplateMistake(template: string): string | undefined {
  try {
    readTemplate(template);
    return undefined;
  } catch (error) {
    if (error instanceof TemplateMistake) return error.message;
    throw error;
  }
}

const onOneLine = (text: string): string => text.replaceAll(/\r\n|[\r\n]/g, ' ');

/** @throws TemplateMistake */
export function compileTemplate(
  template: string,
  socks: SocksScheme = 'socks5h',
): (proxy: ProxyOut) => string {
  const parts = readTemplate(template);
  return (proxy) =>
    `${parts.map((part) => (typeof part === 'string' ? part : onOneLine(part(proxy, socks)))).join('')}\n`;
}
