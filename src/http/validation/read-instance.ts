import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { Validator } from 'class-validator/cjs/validation/Validator';
import { type Refusal, RefusedItems } from './refusal';
import type { RequestFields } from './request-fields';
import { unknownField } from './strict-request';

const validator = new Validator();

const DECLARED = 'request-fields';

/** Keeps the name of a declared field, by which unknown ones are told from it. */
export function declareField(target: object, name: string): void {
  Reflect.defineMetadata(DECLARED, [...declaredFields(target), name], target);
}

/** The names of the fields of a DTO, by its prototype. */
export const declaredFields = (target: object): readonly string[] =>
  (Reflect.getMetadata(DECLARED, target) as readonly string[] | undefined) ?? [];

/**
 * Gives an instance of a DTO with its declared fields, coerced, or all refusals: in declaration order, and
 * then those of unknown fields, which only a strict DTO refuses.
 */
export function readInstance(dto: Type<object>, fields: RequestFields): object {
  const instance = plainToInstance(dto, fields, { excludeExtraneousValues: true });
  const refused = validator
    .validateSync(instance)
    .map(({ property, value }): [string, Refusal | RefusedItems] => [property, value]);
  if (fields.strict) {
    const known = new Set(declaredFields(dto.prototype as object));
    const unknown = fields.names.filter((name) => !known.has(name));
    refused.push(
      ...unknown.map((name): [string, Refusal] => [name, unknownField(fields.find(name) ?? null)]),
    );
  }
  return refused.length > 0 ? new RefusedItems(refused) : instance;
}
