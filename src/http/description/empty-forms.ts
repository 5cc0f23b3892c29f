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

/** The words of a pattern that is a choice of words. */
const WORDS = /^\^\(([\w|-]+)\)\$$/;

/**
 * Lets Swagger UI offer the words of a specified field. The specification has a pattern for them, and some
 * generators fail at a pattern beside an enum, so this is for the page alone as well.
 */
export const offerWords = (document: OpenAPIObject): OpenAPIObject =>
  JSON.parse(JSON.stringify(document), (_, value: Pattern | null): unknown => {
    const words = WORDS.exec(String(value?.pattern))?.[1]?.split('|');
    return words ? { ...value, enum: words } : value;
  }) as OpenAPIObject;

/**
 * Gives every body without an example an empty one, of the required fields. Swagger UI would otherwise make
 * up values that fit the schema and can be sent by haste; what is empty is refused. An example that does not
 * match its schema has no place in the description itself, so this is for the page alone.
 */
export function addEmptyForms(document: OpenAPIObject): OpenAPIObject {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
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
