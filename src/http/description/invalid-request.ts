import { oneOf } from '../validation/common-fields';

/** An example of what a route refuses with 422. */
export interface InvalidRequest {
  readonly loc: readonly (string | number)[];
  readonly msg: string;
  readonly type: string;
  readonly input: unknown;
  readonly ctx?: object;
}

/** A field is missing. */
export const missing = (place: 'body' | 'query' | 'header', ...names: readonly string[]): InvalidRequest => ({
  type: 'missing',
  loc: [place, ...names],
  msg: 'Field required',
  input: place === 'body' ? {} : null,
});

/** An id is not a number. */
export const notAnInteger = (name: string, input: string): InvalidRequest => ({
  type: 'int_parsing',
  loc: ['path', name],
  msg: 'Input should be a valid integer, unable to parse string as an integer',
  input,
});

/** Text does not match its pattern. */
export const notMatching = (
  place: 'body' | 'query',
  name: string,
  pattern: string,
  input: string,
): InvalidRequest => ({
  type: 'string_pattern_mismatch',
  loc: [place, name],
  msg: `String should match pattern '${pattern}'`,
  input,
  ctx: { pattern },
});

/** A parameter of the query is none of a few words. */
export const notOneOf = (name: string, choices: readonly string[], input: string): InvalidRequest =>
  notMatching('query', name, oneOf(choices), input);

/** A number is greater than it may be. */
export const tooGreat = (name: string, most: number, input: string): InvalidRequest => ({
  type: 'less_than_equal',
  loc: ['query', name],
  msg: `Input should be less than or equal to ${most}`,
  input,
  ctx: { le: most },
});

/** A number is not above 0. */
export const notPositive = (name: string, input: string | number): InvalidRequest => ({
  type: 'greater_than',
  loc: ['body', name],
  msg: 'Input should be greater than 0',
  input,
  ctx: { gt: 0 },
});

/** An item of a list is no network. */
export const notANetwork = (name: string): InvalidRequest => ({
  type: 'ip_any_network',
  loc: ['body', name, 0],
  msg: 'Input should be an address or a network in CIDR notation',
  input: '203.0.113.0/33',
});
