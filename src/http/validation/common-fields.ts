import { BooleanField, BoundField, type FieldOptions, IntegerField, StringField } from './fields';

/** Pattern of human-readable text. Clients compile it, too, so it uses no lookaheads and no flags. */
export const PRINTABLE = String.raw`^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$`;

/** Declares a human-readable string. The minimum length gives empty strings a clearer error message. */
export const TextField = (options: FieldOptions = {}) =>
  StringField({ minLength: 1, maxLength: 500, pattern: PRINTABLE, ...options });

export const SearchField = (options: FieldOptions & { readonly pattern?: string } = {}) =>
  StringField({ absent: 'null', maxLength: 100, pattern: PRINTABLE, ...options });

export const ChoiceField = (
  choices: readonly string[],
  options: FieldOptions & { readonly default?: string } = {},
) => StringField({ pattern: oneOf(choices), choices, ...options });

/** Returns a pattern that matches any of these words. */
export const oneOf = (choices: readonly string[]): string => `^(${choices.join('|')})$`;

/** Declares the start of a period in a query. `ToField` declares the end. */
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

/** Declares an id within the range of integers that JSON clients represent exactly. */
export const IdField = (options: FieldOptions = {}) =>
  IntegerField({ greaterThan: 0, atMost: Number.MAX_SAFE_INTEGER, ...options });
