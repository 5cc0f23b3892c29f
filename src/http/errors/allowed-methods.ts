import type { Application } from 'express';

/** The used part of a layer of Express's router. Express publishes no types for it. */
interface RouteLayer {
  readonly route: { readonly path: unknown; readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

/** The methods that the application serves at a path, sorted; none if no route has the path. */
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

/**
 * Keeps a route with a parameter from matching the path of another route, with any method: with
 * `POST /proxies/buy` and `GET /proxies/{proxy_id}`, a `GET /proxies/buy` returns 405.
 */
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

/** Whether a route has no parameter in its path. */
const isFixed = ({ route }: RouteLayer): boolean =>
  typeof route.path === 'string' && !/[:*]/.test(route.path);

function isRouteLayer<Layer extends object>(layer: Layer): layer is Layer & RouteLayer {
  return 'match' in layer && 'route' in layer && layer.route !== undefined;
}
