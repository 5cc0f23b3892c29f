import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from './common-responses';

interface Schema {
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

/** Captures the words of a pattern that is a choice of words. */
const WORDS = /^\^\(([\w|-]+)\)\$$/;

/**
 * Lets Swagger UI offer the words of a specified field. The specification has a pattern for them, and some
 * generators fail on a pattern with an enum, so only the page gets the enum.
 */
export const offerWords = (document: OpenAPIObject): OpenAPIObject =>
  JSON.parse(JSON.stringify(document), (_, value: { readonly pattern?: string } | null): unknown => {
    const words = WORDS.exec(String(value?.pattern))?.[1]?.split('|');
    return words ? { ...value, enum: words } : value;
  }) as OpenAPIObject;

/**
 * Gives every body without an example one with its required fields empty. Swagger UI would otherwise make up
 * valid values, which are easily sent by accident; empty ones are refused. Only the page gets these examples,
 * because an example in the description has to match its schema.
 */
export function addEmptyForms(document: OpenAPIObject): OpenAPIObject {
  const schemas = (document.components?.schemas ?? {}) as Readonly<Record<string, Schema>>;
  for (const { requestBody } of operationsOf(document)) {
    if (!requestBody || !('content' in requestBody)) continue;
    for (const media of Object.values(requestBody.content)) {
      if (media.example !== undefined || media.examples !== undefined) continue;
      const name = media.schema && '$ref' in media.schema ? media.schema.$ref.split('/').at(-1) : undefined;
      const { required = [], properties = {} } = schemas[name ?? ''] ?? {};
      media.example = Object.fromEntries(required.map((field) => [field, emptyOf(properties[field]?.type)]));
    }
  }
  return document;
}

const emptyOf = (type: string | undefined): '' | [] | null =>
  type === 'string' ? '' : type === 'array' ? [] : null;
