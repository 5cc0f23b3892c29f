import type { Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { Validator } from 'class-validator/cjs/validation/Validator';
import { type InputMistake, ItemMistakes } from './input-mistake';
import type { RequestFields } from './request-fields';
import { unknownField } from './strict-request';

const validator = new Validator();

const DECLARED = 'request-fields';

export interface FieldDescription {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

type Fields = ReadonlyMap<string, FieldDescription>;

export function declareField(target: object, name: string, description: FieldDescription): void {
  Reflect.defineMetadata(DECLARED, new Map([...declaredFields(target), [name, description]]), target);
}

/** @param target the DTO's prototype */
export const declaredFields = (target: object): Fields =>
  (Reflect.getMetadata(DECLARED, target) as Fields | undefined) ?? new Map();

/** Returns an instance of the DTO, or `ItemMistakes` in the order of declaration. */
export function readInstance(dto: Type<object>, fields: RequestFields): object {
  const instance = plainToInstance(dto, fields, { excludeExtraneousValues: true });
  const refused = validator
    // Without this option, the validator would reject a DTO that declares no fields.
    .validateSync(instance, { forbidUnknownValues: false })
    .map(({ property, value }): [string, InputMistake | ItemMistakes] => [property, value]);
  if (fields.strict) {
    const known = declaredFields(dto.prototype as object);
    const unknown = fields.names.filter((name) => !known.has(name));
    refused.push(
      ...unknown.map((name): [string, InputMistake] => [name, unknownField(fields.find(name) ?? null)]),
    );
  }
  return refused.length > 0 ? new ItemMistakes(refused) : instance;
}
