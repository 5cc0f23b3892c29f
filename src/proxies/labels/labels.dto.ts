import {
  ApiTexts,
  type FieldOptions,
  PRINTABLE,
  StrictRequest,
  StringField,
  StringListField,
} from '../../http';
import { BulkTargetRequest } from '../bulk-target/bulk-target.dto';
import { MAX_LABEL_LENGTH, MAX_TAG_LENGTH, MAX_TAGS } from '../filter/labels';

const TAG = new RegExp(PRINTABLE, 'u');
const isTag = (text: string): boolean => TAG.test(text) && Array.from(text).length <= MAX_TAG_LENGTH;

const TagsField = (options: FieldOptions): PropertyDecorator =>
  StringListField({
    ...options,
    atMost: MAX_TAGS,
    of: {
      isValid: isTag,
      type: 'value_error',
      msg: `Value error, a tag must have 1 to ${MAX_TAG_LENGTH} printable characters`,
    },
  });

const LabelField = (options: FieldOptions): PropertyDecorator =>
  StringField({
    absent: 'omitted',
    nullable: true,
    maxLength: MAX_LABEL_LENGTH,
    pattern: PRINTABLE,
    ...options,
  });

const DESCR = `Your label: up to ${MAX_LABEL_LENGTH} characters. \`null\` clears it; if omitted, it is kept`;
const TAGS =
  `Your tags, which replace the current ones: up to ${MAX_TAGS}, each of at most ${MAX_TAG_LENGTH} ` +
  'characters. They are stored in lower case, without duplicates. `null` clears them; if omitted, they ' +
  'are unchanged';

@StrictRequest()
export class LabelProxyRequest {
  @LabelField({ description: DESCR, example: 'scraper 1' })
  readonly descr!: string | null | undefined;

  @TagsField({ description: TAGS, example: ['team-a', 'scraping'], absent: 'omitted', nullable: true })
  readonly tags!: readonly string[] | null | undefined;
}

export class LabelProxiesRequest extends BulkTargetRequest {
  @LabelField({ description: DESCR, example: 'scraper 1' })
  readonly descr!: string | null | undefined;

  @TagsField({ description: TAGS, example: ['team-a', 'scraping'], absent: 'omitted', nullable: true })
  readonly tags!: readonly string[] | null | undefined;

  @TagsField({
    description: 'Tags to add to each proxy',
    example: ['2026'],
    absent: 'omitted',
  })
  readonly add_tags!: readonly string[] | undefined;

  @TagsField({
    description: 'Tags to remove from each proxy, even if they are in `add_tags`',
    example: ['old'],
    absent: 'omitted',
  })
  readonly remove_tags!: readonly string[] | undefined;
}

export class LabelProxiesResponse {
  @ApiTexts('The proxies whose label or tags were changed', ['17', '18'])
  changed!: string[];

  @ApiTexts('The proxies that already had this label and these tags', [])
  unchanged!: string[];

  @ApiTexts("Ids in `proxy_ids` that do not belong to any of the user's proxies", [])
  not_found!: string[];
}
