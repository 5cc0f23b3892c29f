import type { OpenAPIObject } from '@nestjs/swagger';

interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
}

type Pattern = { readonly pattern?: string };

interface Media {
  readonly schema?: Schema;
  example?: object;
  readonly examples?: object;
}

type Operation = { readonly requestBody?: { readonly content: Readonly<Record<string, Media>> } };

/** Captures the words of a pattern that is a choice of words. */
const WORDS = /^\^\(([\w|-]+)\)\$$/;

/**
 * Lets Swagger UI offer the words of a specified field. The specification has a pattern for them, and some
 * generators fail on a pattern with an enum, so only the page gets the enum.
 */
export const offerWords = (document: OpenAPIObject): OpenAPIObject =>
  JSON.parse(JSON.stringify(document), (_, value: Pattern | null): unknown => {
    const words = WORDS.exec(String(value?.pattern))?.[1]?.split('|');
    return words ? { ...value, enum: words } : value;
  }) as OpenAPIObject;

/**
 * Gives every body without an example one with its required fields empty. Swagger UI would otherwise make up
 * valid values, which are easily sent by accident; empty ones are refused. Only the page gets these examples,
 * because an example in the description has to match its schema.
 */
export function addEmptyForms(document: OpenAPIObject): OpenAPIObject {
  const { paths, components } = document as unknown as {
    paths: Record<string, Record<string, Operation>>;
    components?: { schemas?: Record<string, Schema> };
  };
  for (const { requestBody } of Object.values(paths).flatMap((path) => Object.values(path))) {
    for (const media of Object.values(requestBody?.content ?? {})) {
      if (media.example !== undefined || media.examples !== undefined) continue;
      const name = media.schema?.$ref?.split('/').at(-1) ?? '';
      const { required = [], properties = {} } = components?.schemas?.[name] ?? {};
      media.example = Object.fromEntries(required.map((field) => [field, emptyOf(properties[field]?.type)]));
    }
  }
  return document;
}

const emptyOf = (type: string | undefined): '' | [] | null =>
  type === 'string' ? '' : type === 'array' ? [] : null;
