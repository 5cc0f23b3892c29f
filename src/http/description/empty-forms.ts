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

/** Captures the words of a pattern such as `^(asc|desc)$`. */
const WORDS = /^\^\(([\w|-]+)\)\$$/;

/** Adds enums for Swagger UI only, because some generators fail if a field has both a pattern and an enum. */
export const offerWords = (document: OpenAPIObject): OpenAPIObject =>
  JSON.parse(JSON.stringify(document), (_, value: { readonly pattern?: string } | null): unknown => {
    const words = WORDS.exec(String(value?.pattern))?.[1]?.split('|');
    return words ? { ...value, enum: words } : value;
  }) as OpenAPIObject;

/** Statuses that mean the same for every operation. */
const REPEATED = new Set(['401', '405', '408', '413', '415', '429', '431']);
/** Captures the staff role at the start of a description, e.g. `For accounting, when …`. */
const USERS = /^For ([a-z ]+?)(?: of [^,:;.]*)?[,:;.]/;

const PAGING = ['cursor', 'limit'];
const pagingRank = (parameter: object): number =>
  Number('name' in parameter && PAGING.includes(String(parameter.name)));

/** Shows staff roles and scopes in the summary, and hides responses that are the same everywhere. */
export function condenseOperations(document: OpenAPIObject): OpenAPIObject {
  for (const operation of operationsOf(document)) {
    const scopes = (operation.security ?? []).flatMap((schemes) => Object.values(schemes).flat());
    const [, users] = USERS.exec(operation.description ?? '') ?? [];
    operation.summary = [operation.summary, users, ...scopes]
      .filter((text) => text !== undefined)
      .join(' · ');
    operation.parameters?.sort((one, other) => pagingRank(one) - pagingRank(other));
    for (const [status, response] of Object.entries(operation.responses)) {
      const isRepeated = REPEATED.has(status) || (response && '$ref' in response);
      if (isRepeated) Reflect.deleteProperty(operation.responses, status);
    }
  }
  return document;
}

/**
 * Adds empty examples, because Swagger UI would otherwise fill in valid values, which are easily sent by
 * accident. Only for Swagger UI, because examples in the served description must match their schemas.
 */
export function addEmptyForms(document: OpenAPIObject): OpenAPIObject {
  const schemas = (document.components?.schemas ?? {}) as Readonly<Record<string, Schema>>;
  for (const { requestBody } of operationsOf(document)) {
    if (!requestBody || !('content' in requestBody)) continue;
    for (const media of Object.values(requestBody.content)) {
      if (media.example !== undefined || media.examples !== undefined) continue;
      const name = media.schema && '$ref' in media.schema ? media.schema.$ref.split('/').at(-1) : undefined;
      const { required = [], properties = {} } = schemas[name ?? ''] ?? {};
      const fields = [...required, ...SHOWN_OPTIONS.filter((field) => field in properties)];
      media.example = Object.fromEntries(fields.map((field) => [field, emptyOf(properties[field])]));
    }
  }
  return document;
}

/** Optional fields that staff usually fill in. */
const SHOWN_OPTIONS = ['reference', 'country', 'version'];

const choicesOf = ({ pattern = '', enum: choices }: Schema): string =>
  (choices ?? WORDS.exec(pattern)?.[1]?.split('|') ?? []).join(' | ');

function emptyOf(schema: Schema | undefined): string | readonly string[] | null {
  if (schema?.type === 'string') return choicesOf(schema);
  if (schema?.type !== 'array') return null;
  const choices = choicesOf(schema.items ?? {});
  return choices === '' ? [] : [choices];
}
