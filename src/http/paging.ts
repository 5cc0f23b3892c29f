import type { Type } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { domainError } from '../common';
import { ApiNullable } from './description/api-properties';
import type { ErrorsOfStatus } from './description/describe-route';
import { IdField } from './validation/common-fields';
import { IntegerField } from './validation/fields';
import { InputMistake, RequestInvalid } from './validation/input-mistake';
import { StrictRequest } from './validation/strict-request';

const MAX_LIMIT = 200;
const DEFAULT_LIMIT = 50;

export const CURSOR = 'The `next_cursor` of the previous page. Omit it for the first page';
export const NEXT_CURSOR = 'Send this as `cursor` to get the next page. `null` on the last page';

export const LimitField = (): PropertyDecorator => (target, key) => {
  ApiProperty({ description: 'The maximum number of items on a page' })(target, key);
  IntegerField({ greaterThan: 0, atMost: MAX_LIMIT, default: DEFAULT_LIMIT })(target, key);
};

/** A null cursor means the first page. */
export interface PageRequest<Cursor = number> {
  readonly cursor: Cursor | null;
  readonly limit: number;
}

/** Thrown for a cursor that no response has contained: resuming from it could skip items. */
export class CursorUnknown extends RequestInvalid {
  constructor(input: string | number, ...loc: string[]) {
    super([
      new InputMistake('cursor_unknown', 'Input should be a cursor or an id from a response', input).at(
        ...loc,
      ),
    ]);
  }
}

@StrictRequest()
export class PageQuery implements PageRequest {
  @IdField({ description: CURSOR, absent: 'null' })
  cursor!: number | null;

  @LimitField()
  limit!: number;
}

export interface Page<Item, Cursor = number> {
  readonly items: readonly Item[];
  readonly next_cursor: Cursor | null;
}

export function PageOf<Item extends object>(item: Type<Item>): Type<Page<Item>> {
  class ItemsPage implements Page<Item> {
    // Nest treats a function as a lazy type only if its name is `type`.
    @ApiProperty({ type: () => item, isArray: true })
    items!: readonly Item[];

    @ApiNullable('integer', NEXT_CURSOR, null)
    next_cursor!: number | null;
  }
  return ItemsPage;
}

/** @param found the page's items, and one more if there is a next page */
export function toPage<Item, Cursor>(
  found: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => Cursor,
): Page<Item, Cursor> {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: last && found.length > limit ? cursorOf(last) : null };
}

/** Reads one extra item, to see whether there is a next page. */
export function readPage<Item extends { readonly id: number }>(
  page: PageRequest,
  read: (page: PageRequest) => Promise<readonly Item[]>,
): Promise<Page<Item>> {
  return readPageBy(page, read, ({ id }) => id);
}

export async function readPageBy<Item, Cursor>(
  { cursor, limit }: PageRequest<Cursor>,
  read: (page: PageRequest<Cursor>) => Promise<readonly Item[]>,
  cursorOf: (item: Item) => Cursor,
): Promise<Page<Item, Cursor>> {
  return toPage(await read({ cursor, limit: limit + 1 }), limit, cursorOf);
}

class InvalidPeriod extends domainError('bad-request', 'The period must end after it begins') {}

export const INVALID_PERIOD: ErrorsOfStatus = ['The period is invalid', InvalidPeriod];

/** @throws InvalidPeriod unless `from` precedes `to`; null or undefined leaves a bound open */
export function assertPeriod(from: Date | null | undefined, to: Date | null | undefined): void {
  if (from && to && from >= to) throw new InvalidPeriod();
}
