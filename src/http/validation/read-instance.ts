import type { Type } from '@nestjs/common';
import { Validator } from 'class-validator/cjs/validation/Validator';
import { type Refusal, RefusedItems } from './refusal';
import type { RequestFields } from './request-fields';
import { unknownField } from './strict-request';

const validator = new Validator();

const DECLARED = 'request-fields';

/** A declared field, for the command line and the check for unknown fields. */
export interface FieldDescription {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly description: string | undefined;
  readonly isRequired: boolean;
}

interface DeclaredField extends FieldDescription {
  /** Returns the value of the field, or a Refusal. */
  readonly read: (fields: RequestFields) => unknown;
}

type Fields = ReadonlyMap<string, DeclaredField>;

export function declareField(target: object, name: string, field: DeclaredField): void {
  Reflect.defineMetadata(DECLARED, new Map([...declaredFields(target), [name, field]]), target);
}

/** The fields of a DTO by name, from its prototype. */
export const declaredFields = (target: object): Fields =>
  (Reflect.getMetadata(DECLARED, target) as Fields | undefined) ?? new Map();

/**
 * Returns an instance of a DTO with its declared fields, coerced, or all refusals: in the order of
 * declaration, then those of unknown fields, which only a strict DTO refuses.
 */
export function readInstance(dto: Type<object>, fields: RequestFields): object {
  const declared = declaredFields(dto.prototype as object);
  const instance = new dto();
  for (const [name, { read }] of declared) Reflect.set(instance, name, read(fields));
  const refused = validator
    .validateSync(instance)
    .map(({ property, value }): [string, Refusal | RefusedItems] => [property, value]);
  if (fields.strict) {
    const unknown = fields.names.filter((name) => !declared.has(name));
    refused.push(
      ...unknown.map((name): [string, Refusal] => [name, unknownField(fields.find(name) ?? null)]),
    );
  }
  return refused.length > 0 ? new RefusedItems(refused) : instance;
}
