import { type OpenAPIObject } from '@nestjs/swagger';
import { statusText } from '../errors/status-text';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const answer = (description: string, ...details: readonly string[]) => ({
  description,
  content: {
    'application/json': {
      schema: { $ref: '#/components/schemas/ErrorResponse' },
      examples: Object.fromEntries(details.map((detail) => [detail, { value: { detail } }])),
    },
  },
});

const UNREADABLE_BODY = 'There was an error parsing the body';

/** Responses that any operation may return before its route is called, by the name of the component. */
const COMPONENTS = {
  MalformedRequest: answer('The request is not valid HTTP', statusText(400)),
  UnreadableRequest: answer(
    'The request is not valid HTTP, or its body is not UTF-8 or nests too deep',
    statusText(400),
    UNREADABLE_BODY,
  ),
  MethodNotAllowed: {
    ...answer('The path has other methods', statusText(405)),
    headers: { Allow: { description: 'The methods of the path', schema: { type: 'string' } } },
  },
  RequestTimeout: answer(
    'The headers did not arrive within 15 seconds, or the whole request within 30',
    statusText(408),
  ),
  BodyTooLarge: answer('The body is larger than 100 kB', statusText(413)),
  HeadersTooLarge: answer('The address and the headers are larger than 16 kB', statusText(431)),
  Unavailable: answer(
    'The service cannot reach its database. Nothing was changed',
    'Service temporarily unavailable',
  ),
} as const;

type Shared = keyof typeof COMPONENTS;

/**
 * Adds to every operation the responses that precede its own code, and marks operations that need no token.
 * A status that an operation describes itself is not changed.
 */
export function addCommonAnswers(document: OpenAPIObject): void {
  const used = new Set<Shared>();
  const refer = (name: Shared) => {
    used.add(name);
    return { $ref: `#/components/responses/${name}` };
  };
  for (const operation of operationsOf(document)) {
    operation.security ??= [];
    const takesBody = operation.requestBody !== undefined;
    const { 400: refused, 503: unavailable } = operation.responses;
    if (takesBody && refused && 'content' in refused) {
      const examples = refused.content?.['application/json']?.examples ?? {};
      examples[UNREADABLE_BODY] = { value: { detail: UNREADABLE_BODY } };
    }
    operation.responses = {
      ...(!refused && { 400: refer(takesBody ? 'UnreadableRequest' : 'MalformedRequest') }),
      405: refer('MethodNotAllowed'),
      408: refer('RequestTimeout'),
      ...(takesBody && { 413: refer('BodyTooLarge') }),
      431: refer('HeadersTooLarge'),
      ...(operation.security.length > 0 && !unavailable && { 503: refer('Unavailable') }),
      ...operation.responses,
    };
  }
  const responses = Object.fromEntries([...used].map((name) => [name, COMPONENTS[name]]));
  document.components = { ...document.components, responses };
}

/**
 * Nest puts examples of parameters inside their schemas, where generators and testers do not look. The
 * example of an optional parameter stays there, in `examples`: Swagger UI would fill it in, and a customer
 * who lists their proxies has none with the label of an example.
 */
export function liftParameterExamples(document: OpenAPIObject): void {
  for (const { parameters = [] } of operationsOf(document)) {
    for (const parameter of parameters) {
      if (!('schema' in parameter) || !parameter.schema || !('example' in parameter.schema)) continue;
      const { example, ...schema } = parameter.schema;
      Object.assign(
        parameter,
        parameter.required
          ? { schema, example: example as unknown }
          : { schema: { ...schema, examples: [example as unknown] } },
      );
    }
  }
}

export const operationsOf = ({ paths }: OpenAPIObject): Operation[] =>
  Object.values(paths).flatMap((path) => METHODS.flatMap((method) => path[method] ?? []));
