import type { Application } from 'express';

/** Express publishes no types for router layers. */
interface RouteLayer {
  readonly route: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

export function allowedMethods(application: Application, path: string): string[] {
  const methods = new Set<string>();
  const layers = routesOf(application).filter((layer) => layer.match(path));
  const fixed = layers.filter(isFixed);
  for (const layer of fixed.length > 0 ? fixed : layers) {
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

/** Gives fixed paths precedence: `GET /proxies/buy` returns 405, not the proxy with the id `buy`. */
export function preferFixedPaths(application: Application, parameter: string): void {
  let fixed: ReadonlySet<unknown> | undefined;
  application.param(parameter, ({ app, path }, _response, next) => {
    fixed ??= new Set(
      routesOf(app)
        .filter(isFixed)
        .map(({ route }) => route.path),
    );
    next(fixed.has(path.replace(/\/$/, '')) ? 'route' : undefined);
  });
}

const routesOf = ({ router }: Application): readonly RouteLayer[] => router.stack.filter(isRouteLayer);

const isFixed = ({ route }: RouteLayer): boolean =>
  typeof route.path === 'string' && !/[:*]/.test(route.path);

function isRouteLayer<Layer extends object>(layer: Layer): layer is Layer & RouteLayer {
  return 'match' in layer && 'route' in layer && layer.route !== undefined;
}
