import { BooleanField, BoundField, type FieldOptions, IntegerField, StringField } from './fields';

/**
 * A pattern for text that people read: not blank, and without control characters. Browsers and other clients
 * compile it too, so it uses neither a lookahead nor a class that needs a flag.
 */
export const PRINTABLE = String.raw`^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$`;

/** Text of a request that people read. A lower bound has a clearer message than the pattern. */
export const TextField = (options: FieldOptions = {}) =>
  StringField({ minLength: 1, maxLength: 500, pattern: PRINTABLE, ...options });

export const SearchField = (options: FieldOptions & { readonly pattern?: string } = {}) =>
  StringField({ absent: 'null', maxLength: 100, pattern: PRINTABLE, ...options });

/** Text of a request that is one of a few words. */
export const ChoiceField = (
  choices: readonly string[],
  options: FieldOptions & { readonly default?: string } = {},
) => StringField({ pattern: oneOf(choices), choices, ...options });

/** The pattern of a {@link ChoiceField}. */
export const oneOf = (choices: readonly string[]): string => `^(${choices.join('|')})$`;

/** The bounds of a period in a query. */
export const FromField = (options: FieldOptions = { absent: 'null' }) =>
  BoundField('start', {
    description: 'The start: the first day (UTC), e.g. 2026-11-01, or a time, e.g. 2026-11-01T00:00:00Z',
    ...options,
  });
export const ToField = (options: FieldOptions = { absent: 'null' }) =>
  BoundField('end', {
    description: 'The end: the last day (UTC), inclusive, or a time, exclusive',
    ...options,
  });

export const ExcelField = () =>
  BooleanField({
    description:
      'For Excel: semicolons, decimal commas, a byte order mark, and text as `="0123"`, so that it ' +
      'stays text',
    default: false,
  });

/** An id of a request, exact in JSON. */
export const IdField = (options: FieldOptions = {}) =>
  IntegerField({ greaterThan: 0, atMost: Number.MAX_SAFE_INTEGER, ...options });
