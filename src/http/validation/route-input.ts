import { SetMetadata, type Type } from '@nestjs/common';
import { RouteParamtypes } from '@nestjs/common/internal';

interface TextReader {
  readonly place: 'path' | 'header';
  readonly name: string;
  /** Returns an InputMistake if the value is not valid. Other results are ignored. */
  readonly read: (text: string | undefined) => unknown;
}

export interface RouteInput {
  readonly path: readonly TextReader[];
  readonly header: readonly TextReader[];
  readonly query: Type<object> | undefined;
  readonly body: Type<object> | undefined;
  readonly refusesQuery: boolean;
}

const READERS = 'text-readers';
const NO_QUERY = 'refuses-query';
/** Nest's metadata key for a handler's parameters. */
const ROUTE_ARGUMENTS = '__routeArguments__';

/** Marks a route that has no query parameters and rejects any query, e.g. `?preview=true` on a change. */
export const RefuseStrayQuery = () => SetMetadata(NO_QUERY, true);

/** Registers a path parameter or header to read before the route's handler is called. */
export function readBefore(route: object, handler: string | symbol | undefined, reader: TextReader): void {
  if (handler === undefined) throw new Error('constructors take no requests');
  Reflect.defineMetadata(READERS, [...readersOf(route, handler), reader], route, handler);
}

const readersOf = (route: object, handler: string | symbol): readonly TextReader[] =>
  (Reflect.getMetadata(READERS, route, handler) as readonly TextReader[] | undefined) ?? [];

const inputs = new WeakMap<object, RouteInput | null>();

export function routeInput(controller: Type, handler: object & { readonly name: string }): RouteInput | null {
  const known = inputs.get(handler);
  if (known !== undefined) return known;
  const input = inputOf(controller, handler.name);
  const found = hasInput(input) ? input : null;
  inputs.set(handler, found);
  return found;
}

/** Reads a route's input as declared so far. Decorators that run later are not included. */
export function inputOf(controller: Type, handler: string): RouteInput {
  const prototype = controller.prototype as object;
  const readers = readersOf(prototype, handler);
  const query = dtoOf(controller, handler, RouteParamtypes.QUERY);
  return {
    path: readers.filter(({ place }) => place === 'path'),
    header: readers.filter(({ place }) => place === 'header'),
    query,
    body: dtoOf(controller, handler, RouteParamtypes.BODY),
    refusesQuery: !query && Reflect.hasMetadata(NO_QUERY, Reflect.get(prototype, handler) as object),
  };
}

interface HandlerArgument {
  /** NaN if one of our own decorators injects the argument. */
  readonly kind: RouteParamtypes;
  readonly index: number;
  /** The name of the parameter or header. */
  readonly data: string;
}

export function handlerArguments(controller: Type, handler: string): HandlerArgument[] {
  const taken = Reflect.getMetadata(ROUTE_ARGUMENTS, controller, handler) as
    | Record<string, { readonly index: number; readonly data: string }>
    | undefined;
  // A key begins with the kind. For our decorators, that is a random string, which may begin with a digit.
  return Object.entries(taken ?? {}).map(([key, { index, data }]) => ({
    kind: Number(key.split(':', 1)[0]),
    index,
    data,
  }));
}

export const hasInput = ({ path, header, query, body, refusesQuery }: RouteInput): boolean =>
  path.length > 0 || header.length > 0 || query !== undefined || body !== undefined || refusesQuery;

function dtoOf(controller: Type, handler: string, wanted: RouteParamtypes): Type<object> | undefined {
  const found = handlerArguments(controller, handler).find(({ kind }) => kind === wanted);
  if (!found) return undefined;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, handler) as Type[];
  return types[found.index];
}
