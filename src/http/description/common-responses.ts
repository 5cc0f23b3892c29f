import type { OpenAPIObject } from '@nestjs/swagger';
import { ServiceUnavailable } from '../../common';
import { statusText } from '../errors/error.filter';
import { isSpecified } from '../errors/specified-routes';
import { BodyTooLarge, BodyUnreadable, ContentEncodingUnsupported } from '../request-body';
import { bodyOf, contentOf, type ErrorResponse } from './error-response';

type Operation = NonNullable<OpenAPIObject['paths'][string]['get']>;

const METHODS = ['get', 'post', 'put', 'patch', 'delete'] as const;

const response = (description: string, ...bodies: readonly ErrorResponse[]) => ({
  description,
  content: contentOf(bodies),
});

/** Requests that reach no route get an error without a code. */
const unrouted = (status: number): ErrorResponse => ({ detail: statusText(status) });

const UNREADABLE_BODY = bodyOf(new BodyUnreadable());

/** Responses that any operation may return before its handler is called, by component name. */
const COMPONENTS = {
  MalformedRequest: response('The request is not valid HTTP', unrouted(400)),
  UnreadableRequest: response(
    'The request is not valid HTTP, or its body is not UTF-8 or is nested too deeply',
    unrouted(400),
    UNREADABLE_BODY,
  ),
  MethodNotAllowed: {
    ...response('The path has other methods', unrouted(405)),
    headers: { Allow: { description: 'The methods of the path', schema: { type: 'string' } } },
  },
  RequestTimeout: response(
    'The headers did not arrive within 15 seconds, the whole request within 30, or more of its body within 5',
    unrouted(408),
  ),
  BodyTooLarge: response('The body is larger than 100 kB', bodyOf(new BodyTooLarge())),
  EncodedBody: {
    ...response('The body has a `Content-Encoding`', bodyOf(new ContentEncodingUnsupported())),
    headers: { 'Accept-Encoding': { description: '`identity`', schema: { type: 'string' } } },
  },
  HeadersTooLarge: response('The address and the headers are larger than 16 kB', unrouted(431)),
  Unavailable: response(
    'The service cannot reach its database. Nothing was changed',
    bodyOf(new ServiceUnavailable()),
  ),
} as const;

type Shared = keyof typeof COMPONENTS;

/** Responses whose error has a code. Specified routes (docs/api.md) describe them inline, without a code. */
const WITH_CODE: ReadonlySet<Shared> = new Set(['UnreadableRequest', 'BodyTooLarge', 'Unavailable']);

/** Adds the responses that any operation may return before its handler is called. */
export function addCommonResponses(document: OpenAPIObject): void {
  const used = new Set<Shared>();
  for (const [route, operation] of routesOf(document)) {
    const refer = (name: Shared) => {
      if (isSpecified(route) && WITH_CODE.has(name)) return COMPONENTS[name];
      used.add(name);
      return { $ref: `#/components/responses/${name}` };
    };
    operation.security ??= [];
    const takesBody = operation.requestBody !== undefined;
    const { 400: refused, 503: unavailable } = operation.responses;
    if (takesBody && refused && 'content' in refused) {
      const examples = refused.content?.['application/json']?.examples ?? {};
      examples[UNREADABLE_BODY.detail] = { value: UNREADABLE_BODY };
    }
    operation.responses = {
      ...(!refused && { 400: refer(takesBody ? 'UnreadableRequest' : 'MalformedRequest') }),
      405: refer('MethodNotAllowed'),
      408: refer('RequestTimeout'),
      ...(takesBody && { 413: refer('BodyTooLarge') }),
      ...(takesBody && !isSpecified(route) && { 415: refer('EncodedBody') }),
      431: refer('HeadersTooLarge'),
      ...(operation.security.length > 0 && !unavailable && { 503: refer('Unavailable') }),
      ...operation.responses,
    };
    if (isSpecified(route)) operation.responses = withoutCode(operation.responses);
  }
  const responses = Object.fromEntries([...used].map((name) => [name, COMPONENTS[name]]));
  document.components = { ...document.components, responses };
}

const withoutCode = <Part>(part: Part): Part =>
  JSON.parse(JSON.stringify(part, (name, value: unknown) => (name === 'code' ? undefined : value))) as Part;

/**
 * Moves the example of a required parameter out of the schema, because generators ignore it there. An
 * optional parameter's example becomes `examples`, because Swagger UI would fill in an `example`.
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

export const operationsOf = (document: OpenAPIObject): Operation[] =>
  routesOf(document).map(([, operation]) => operation);

const routesOf = ({ paths }: OpenAPIObject): [route: string, operation: Operation][] =>
  Object.entries(paths).flatMap(([path, item]) =>
    METHODS.flatMap((method): [string, Operation][] => {
      const operation = item[method];
      return operation ? [[`${method.toUpperCase()} ${path}`, operation]] : [];
    }),
  );
