import type { OpenAPIObject } from '@nestjs/swagger';
import { NULLABLE_EXTENSION } from '../validation/strict-request';
import { operationsOf } from './common-responses';

type Property = Record<string, unknown>;

/** Keywords that apply to a property as a whole, rather than to one of its types. */
const TEXTS = ['title', 'description', 'example'];

/** Adds null to the types of body fields that may be null. A query cannot contain null. */
export function describeNull(document: OpenAPIObject): void {
  for (const parameter of operationsOf(document).flatMap(({ parameters = [] }) => parameters)) {
    Reflect.deleteProperty(parameter, NULLABLE_EXTENSION);
  }
  for (const schema of Object.values(document.components?.schemas ?? {})) {
    const { properties = {} } = schema as { readonly properties?: Record<string, Property> };
    for (const [name, { schema: parameter, ...rest }] of Object.entries(properties)) {
      // In agent tools, properties may be declared as query parameters, whose schema is nested.
      const { type: _type, ...texts } = rest;
      const property = parameter ? { ...texts, ...parameter } : rest;
      properties[name] = NULLABLE_EXTENSION in property ? orNull(property) : property;
    }
  }
}

function orNull(property: Property): Property {
  const isText = ([name]: [string, unknown]): boolean => TEXTS.includes(name);
  const entries = Object.entries(property).filter(([name]) => name !== NULLABLE_EXTENSION);
  const type = Object.fromEntries(entries.filter((entry) => !isText(entry)));
  const { anyOf, allOf = anyOf } = type as { anyOf?: readonly object[]; allOf?: readonly object[] };
  const members = allOf ?? [type];
  return { ...Object.fromEntries(entries.filter(isText)), anyOf: [...members, { type: 'null' }] };
}
