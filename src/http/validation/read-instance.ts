import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync } from 'class-validator';
import { type Refusal, RefusedItems } from './refusal';
import type { RequestFields } from './request-fields';

/** Gives an instance of a DTO with its declared fields, coerced, or all refusals in declaration order. */
export function readInstance(dto: Type<object>, fields: RequestFields): object {
  const instance = plainToInstance(dto, fields, { excludeExtraneousValues: true });
  const refused = validateSync(instance).map(({ property, value }): [string, Refusal | RefusedItems] => [
    property,
    value,
  ]);
  return refused.length > 0 ? new RefusedItems(refused) : instance;
}
