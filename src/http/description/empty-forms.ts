import type { OpenAPIObject } from '@nestjs/swagger';
import { operationsOf } from './common-responses';

interface Schema {
  readonly type?: string;
  readonly pattern?: string;
  readonly enum?: readonly string[];
  readonly items?: Schema;
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

/** Statuses that mean the same everywhere: of the token, its limits, and requests that reach no route. */
const REPEATED = new Set(['401', '405', '408', '413', '415', '429', '431']);
/** A description for staff begins with them: `For accounting, when …`. */
const USERS = /^For ([a-z ]+?)(?: of [^,:;.]*)?[,:;.]/;

/** Shows who may use an operation where it is closed, and hides responses that are the same everywhere. */
export function condense(document: OpenAPIObject): OpenAPIObject {
  for (const operation of operationsOf(document)) {
    const scopes = (operation.security ?? []).flatMap((schemes) => Object.values(schemes).flat());
    const [, users] = USERS.exec(operation.description ?? '') ?? [];
    operation.summary = [operation.summary, users, ...scopes]
      .filter((text) => text !== undefined)
      .join(' · ');
    for (const [status, response] of Object.entries(operation.responses)) {
      const isRepeated = REPEATED.has(status) || (response && '$ref' in response);
      if (isRepeated) Reflect.deleteProperty(operation.responses, status);
    }
  }
  return document;
}

/**
 * Gives every body without an example one with its required fields empty, or with the list of their choices.
 * Swagger UI would otherwise make up valid values, which are easily sent by accident; these are refused. Only
 * the page gets these examples, because an example in the description has to match its schema.
 */
export function addEmptyForms(document: OpenAPIObject): OpenAPIObject {
  const schemas = (document.components?.schemas ?? {}) as Readonly<Record<string, Schema>>;
  for (const { requestBody } of operationsOf(document)) {
    if (!requestBody || !('content' in requestBody)) continue;
    for (const media of Object.values(requestBody.content)) {
      if (media.example !== undefined || media.examples !== undefined) continue;
      const name = media.schema && '$ref' in media.schema ? media.schema.$ref.split('/').at(-1) : undefined;
      const { required = [], properties = {} } = schemas[name ?? ''] ?? {};
      // Accounting needs it, although it may be omitted.
      const fields = 'reference' in properties ? [...required, 'reference'] : required;
      media.example = Object.fromEntries(fields.map((field) => [field, emptyOf(properties[field])]));
    }
  }
  return document;
}

const choicesOf = ({ pattern = '', enum: choices }: Schema): string =>
  (choices ?? WORDS.exec(pattern)?.[1]?.split('|') ?? []).join(' | ');

function emptyOf(schema: Schema | undefined): string | readonly string[] | null {
  if (schema?.type === 'string') return choicesOf(schema);
  if (schema?.type !== 'array') return null;
  const choices = choicesOf(schema.items ?? {});
  return choices === '' ? [] : [choices];
}
