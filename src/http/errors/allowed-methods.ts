import type { Application } from 'express';

/** A layer of Express's router, as far as it is used here. Express publishes no types for it. */
interface RouteLayer {
  readonly route: { readonly methods: Readonly<Record<string, boolean>> };
  match(path: string): unknown;
}

/** The methods that the application serves under a path, sorted; none when it serves nothing there. */
export function allowedMethods(application: Application, path: string): string[] {
  const methods = new Set<string>();
  for (const layer of application.router.stack) {
    if (!isRouteLayer(layer) || !layer.match(path)) continue;
    for (const method of Object.keys(layer.route.methods)) methods.add(method.toUpperCase());
  }
  if (methods.has('GET')) methods.add('HEAD');
  return [...methods].sort();
}

function isRouteLayer(layer: object): layer is RouteLayer {
  return 'match' in layer && 'route' in layer && layer.route !== undefined;
}
