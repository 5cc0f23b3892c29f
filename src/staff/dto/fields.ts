import { ApiProperty } from '@nestjs/swagger';
import { ApiValidationErrorResponse, IntegerField, StringField } from '../../http';

/** Text that a person reads: not blank, without control characters. */
export const PRINTABLE = '^(?=.*\\S)\\P{Cc}+$';

export const TextField = (options: { optional?: true } = {}) =>
  StringField({ maxLength: 500, pattern: PRINTABLE, ...options });

/** An id, exact in JSON. */
export const IdField = (options: { optional?: true } = {}) =>
  IntegerField({ greaterThan: 0, atMost: Number.MAX_SAFE_INTEGER, ...options });

/** A field of an answer that may be null. */
export const ApiNullable = (
  type: 'string' | 'integer' | 'number' | 'object',
  { format, ...options }: { description?: string; example?: unknown; format?: string } = {},
): PropertyDecorator =>
  ApiProperty({
    ...options,
    anyOf: [
      { type, ...(format && { format }), ...(type === 'object' && { additionalProperties: true }) },
      { type: 'null' },
    ],
  });

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

/** How many items a page has. */
export const LimitField = () => IntegerField({ greaterThan: 0, atMost: MAX_LIMIT, default: DEFAULT_LIMIT });

/** What every list is asked with; `ApiLimitErrorResponse` describes what is refused. */
export class PageQuery {
  @ApiProperty({ description: '`next_cursor` of the page before; without it: the first page' })
  @IdField({ optional: true })
  cursor!: number | null;

  @ApiProperty({ description: 'How many there are on a page at most' })
  @LimitField()
  limit!: number;
}

export const ApiLimitErrorResponse = () =>
  ApiValidationErrorResponse({
    type: 'less_than_equal',
    loc: ['query', 'limit'],
    msg: `Input should be less than or equal to ${MAX_LIMIT}`,
    input: '1000',
    ctx: { le: MAX_LIMIT },
  });

export interface Page<Item, Cursor = number> {
  readonly items: readonly Item[];
  readonly next_cursor: Cursor | null;
}

/** @param items one more than the page has, when there are more */
export function toPage<Item, Cursor>(
  items: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => Cursor,
): Page<Item, Cursor> {
  const shown = items.slice(0, limit);
  const last = shown.at(-1);
  return { items: shown, next_cursor: last && items.length > limit ? cursorOf(last) : null };
}

/** The two fields of a page, for its class. */
// Nest knows a function that names a class by its own name, `type`.
export const ApiItems = (item: () => new () => object) => ApiProperty({ type: () => item(), isArray: true });
export const ApiNextCursor = () =>
  ApiNullable('integer', {
    description: 'The `cursor` of the next page; null on the last one',
    example: null,
  });
