import { RequestMethod, type Type } from '@nestjs/common';
import { type DiscoveryService, MetadataScanner } from '@nestjs/core';
import { ACCESS, type Access } from './access.decorators';

type Handler = (...args: unknown[]) => unknown;

export interface RegisteredRoute {
  /** In the form `Controller.handler`. */
  readonly name: string;
  /** In upper case. */
  readonly method: string;
  /** As in the OpenAPI document: `/staff/users/{user_id}`. */
  readonly path: string;
  readonly handler: Handler;
  readonly controller: Type;
  readonly access: Access | undefined;
}

/** Nest's metadata keys for controllers and handlers. */
const PATH = 'path';
const METHOD = 'method';

const scanner = new MetadataScanner();

export function findRoutes(discovery: DiscoveryService): RegisteredRoute[] {
  return discovery.getControllers().flatMap(({ metatype }) => {
    if (!metatype) return [];
    const controller = metatype as Type;
    const prototype = controller.prototype as Record<string, Handler>;
    return scanner.getAllMethodNames(prototype).flatMap((name) => {
      const handler = prototype[name];
      if (!handler || !Reflect.hasMetadata(PATH, handler)) return [];
      return [
        {
          name: `${controller.name}.${name}`,
          method: RequestMethod[Reflect.getMetadata(METHOD, handler) as RequestMethod],
          path: describedPath(Reflect.getMetadata(PATH, controller), Reflect.getMetadata(PATH, handler)),
          handler,
          controller,
          access: (Reflect.getMetadata(ACCESS, handler) ?? Reflect.getMetadata(ACCESS, controller)) as
            | Access
            | undefined,
        },
      ];
    });
  });
}

function describedPath(...parts: readonly unknown[]): string {
  const segments = parts.flatMap((part) => String(part).split('/')).filter((segment) => segment !== '');
  return `/${segments.map((segment) => segment.replace(/^:(.+)$/, '{$1}')).join('/')}`;
}
