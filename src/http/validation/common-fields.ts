import { BooleanField, BoundField, type FieldOptions, IntegerField, StringField } from './fields';

/** This pattern uses no lookaheads and no flags, because clients compile it as well. */
export const PRINTABLE = String.raw`^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$`;

/** The minimum length gives an empty string a clearer error message than the pattern. */
export const TextField = (options: FieldOptions = {}) =>
  StringField({ minLength: 1, maxLength: 500, pattern: PRINTABLE, ...options });

export const SearchField = (options: FieldOptions & { readonly pattern?: string } = {}) =>
  StringField({ absent: 'null', maxLength: 100, pattern: PRINTABLE, ...options });

export const ChoiceField = (
  choices: readonly string[],
  options: FieldOptions & { readonly default?: string } = {},
) => StringField({ pattern: oneOf(choices), choices, ...options });

export const oneOf = (choices: readonly string[]): string => `^(${choices.join('|')})$`;

export const FromField = (options: FieldOptions = { absent: 'null' }) =>
  BoundField('start', {
    description:
      'The start of the period: the first day (UTC), e.g. 2026-11-01, or a time, e.g. ' +
      '2026-11-01T00:00:00Z',
    ...options,
  });
export const ToField = (options: FieldOptions = { absent: 'null' }) =>
  BoundField('end', {
    description: 'The end of the period: the last day (UTC), inclusive, or a time, exclusive',
    ...options,
  });

export const ExcelField = () =>
  BooleanField({
    description:
      'Whether to format the file for Excel, with semicolons, decimal commas, a byte order mark, and ' +
      'text as `="0123"` so that it stays text',
    default: false,
  });

/** Every JSON client represents integers in this range exactly. */
export const IdField = (options: FieldOptions = {}) =>
  IntegerField({ greaterThan: 0, atMost: Number.MAX_SAFE_INTEGER, ...options });
