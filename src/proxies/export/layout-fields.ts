import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Refusal, StringField } from '../../http';
import { FORMAT_NAMES, isFormatName } from './formats';
import { findTemplateMistake, MAX_TEMPLATE_LENGTH, PLACEHOLDERS } from './template';

const SPECIFIED = '^(json|txt)$';

/**
 * The format by name. A name that is none gets the answer that the specification has for it, which names
 * the two oldest formats only.
 */
export const ExportFormatField = (): PropertyDecorator =>
  applyDecorators(
    ApiProperty({ description: 'The format, by its name' }),
    StringField({
      choices: FORMAT_NAMES,
      default: 'json',
      refuse: (text, others) =>
        isFormatName(text) && !(text === 'csv' && others.has('active_only'))
          ? undefined
          : new Refusal('string_pattern_mismatch', `String should match pattern '${SPECIFIED}'`, text, {
              pattern: SPECIFIED,
            }),
    }),
  );

/** A template instead of a format. */
export const ExportTemplateField = (): PropertyDecorator =>
  applyDecorators(
    ApiProperty({
      description:
        'Instead of `format`: how one proxy is written, with placeholders ' +
        `${PLACEHOLDERS.map((name) => `\`{${name}}\``).join(', ')}. \`\\n\` is a line break, \`\\t\` a ` +
        'tab, `\\\\` a backslash, `{{` and `}}` are braces. At most 20 placeholders',
      example: '{host}:{port}:{login}:{password}',
    }),
    StringField({
      optional: true,
      minLength: 1,
      maxLength: MAX_TEMPLATE_LENGTH,
      refuse: (text, others) => {
        const error = others.has('format')
          ? 'format and template exclude each other'
          : findTemplateMistake(text);
        return error === undefined
          ? undefined
          : new Refusal('value_error', `Value error, ${error}`, text, { error });
      },
    }),
  );
