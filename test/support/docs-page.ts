import { runInNewContext } from 'node:vm';
import { type Description, isObject, type Json, operationsOf } from './description';

type UpdateSpec = (spec: Description) => void;

interface SpecPlugin {
  readonly wrapActions?: { readonly updateJsonSpec?: (original: UpdateSpec) => UpdateSpec };
}

interface Plugin {
  readonly statePlugins?: { readonly spec?: SpecPlugin };
}

interface PageOptions {
  readonly spec: Description;
  readonly plugins: readonly (Plugin | (() => Plugin))[];
}

export interface PrefilledRequest {
  readonly name: string;
  readonly operationId: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
  readonly empty: readonly string[];
}

/** Prefills as Swagger UI 5 does: a parameter's `example` or `default`, and a body's first example. */
export async function prefilledRequests(address: string): Promise<PrefilledRequest[]> {
  const { spec, plugins } = await readOptions(address);
  const ofSpec = plugins.flatMap(
    (each) => (typeof each === 'function' ? each() : each).statePlugins?.spec ?? [],
  );
  const shown = { ...spec };
  const show: UpdateSpec = (changed) => Object.assign(shown, changed);
  const wraps = ofSpec.flatMap(({ wrapActions }) => wrapActions?.updateJsonSpec ?? []);
  wraps.reduce((original, wrap) => wrap(original), show)(spec);
  return operationsOf(shown).map(
    ({ name, method, path, operation: { operationId = '', parameters = [], requestBody } }) => {
      const filled = parameters.map((parameter) => ({ ...parameter, value: valueOf(parameter) }));
      const given = filled.flatMap(({ value, ...rest }) =>
        value === undefined
          ? []
          : [{ ...rest, value: typeof value === 'string' ? value : JSON.stringify(value) }],
      );
      const of = (place: string) => given.filter((parameter) => parameter.in === place);
      const query = new URLSearchParams(
        Object.fromEntries(of('query').map(({ name: key, value }) => [key, value])),
      );
      const media = requestBody?.content['application/json'];
      const [first] = Object.values(media?.examples ?? {});
      const body = first ? first.value : media?.example;
      if (media && body === undefined) throw new Error(`${name}: the page makes up a body`);
      return {
        name,
        operationId,
        method,
        path:
          of('path').reduce((text, { name: key, value }) => text.replace(`{${key}}`, value), path) +
          (query.size > 0 ? `?${query.toString()}` : ''),
        headers: Object.fromEntries(of('header').map(({ name: key, value }) => [key, value])),
        body: media && JSON.stringify(body),
        empty: filled
          .filter(({ required, value }) => required && value === undefined)
          .map((each) => each.name),
      };
    },
  );
}

const valueOf = ({
  example,
  schema,
}: {
  readonly example?: Json;
  readonly schema: Json;
}): Json | undefined => {
  if (example !== undefined) return example;
  return isObject(schema) ? (schema['example'] ?? schema['default']) : undefined;
};

async function readOptions(address: string): Promise<PageOptions> {
  const script = await (await fetch(`${address}/swagger-ui-init.js`)).text();
  let options: PageOptions | undefined;
  const SwaggerUIBundle = Object.assign(
    (given: PageOptions) => {
      options = given;
      return { initOAuth: () => undefined };
    },
    { presets: { apis: {} }, plugins: { DownloadUrl: {} } },
  );
  const window = { location: { search: '', origin: address }, onload: (): void => undefined };
  runInNewContext(script, { window, SwaggerUIBundle, SwaggerUIStandalonePreset: {} });
  window.onload();
  if (!options) throw new Error('the page does not start Swagger UI');
  return options;
}
