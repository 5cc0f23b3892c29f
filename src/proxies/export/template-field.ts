import { type FieldOptions, InputMistake, StringField } from '../../http';
import { findTemplateMistake, MAX_TEMPLATE_LENGTH, PLACEHOLDERS } from './template';

export const ExportTemplateField = (options: FieldOptions = {}): PropertyDecorator =>
  StringField({
    description:
      "The format of each proxy's line, with the placeholders " +
      `${PLACEHOLDERS.map((name) => `\`{${name}}\``).join(', ')}. \`\\n\` is a line break, \`\\t\` a ` +
      'tab, `\\\\` a backslash, `{{` and `}}` are braces. `{host_port}` puts IPv6 addresses in ' +
      'brackets, and the encoded login and password can be used in a URL. `{type}://` is `socks5://` ' +
      'for SOCKS5. At most 20 placeholders',
    example: '{host}:{port}:{login}:{password}',
    ...options,
    minLength: 1,
    maxLength: MAX_TEMPLATE_LENGTH,
    refine: (text) => {
      const error = findTemplateMistake(text);
      return error === undefined
        ? undefined
        : new InputMistake('value_error', `Value error, ${error}`, text, { error });
    },
  });
