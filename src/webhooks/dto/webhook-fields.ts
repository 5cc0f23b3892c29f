import { ALL_EVENT_TYPES, isEventType } from '../../events';
import { type FieldOptions, InputMistake, StringField, StringListField } from '../../http';

const MAX_URL_LENGTH = 2000;

/** `addresses.ts` checks the URL's addresses later. */
export const WebhookUrlField = (options: FieldOptions = {}): PropertyDecorator =>
  StringField({ ...options, maxLength: MAX_URL_LENGTH, refine: refuseUrl });

function refuseUrl(text: string): InputMistake | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || (url.protocol !== 'https:' && url.protocol !== 'http:') || !url.hostname) {
    return new InputMistake('url_parsing', 'Input should be an absolute URL that begins with https://', text);
  }
  if (url.username || url.password || url.hash) {
    return new InputMistake('url_parsing', 'Input should be a URL without credentials or a fragment', text);
  }
  return undefined;
}

const TYPE = {
  isValid: isEventType,
  type: 'enum',
  msg: 'Input should be an event type',
  choices: ALL_EVENT_TYPES,
};

export const TypesField = (options: FieldOptions): PropertyDecorator =>
  StringListField({ ...options, atLeast: 1, atMost: ALL_EVENT_TYPES.length, of: TYPE });
