import { createHash } from 'node:crypto';

export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

export interface Media {
  readonly schema?: Json;
  readonly example?: Json;
  readonly examples?: Readonly<Record<string, { readonly value: Json }>>;
}

type Content = Readonly<Record<string, Media>>;

export interface Parameter {
  readonly name: string;
  readonly in: string;
  readonly required: boolean;
  readonly description?: string;
  readonly example?: Json;
  readonly schema: Json;
}

export interface DescribedResponse {
  readonly content?: Content;
  readonly headers?: Json;
}

export interface Operation {
  readonly operationId?: string;
  readonly summary?: string;
  readonly description?: string;
  readonly tags?: readonly string[];
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[];
  readonly parameters?: readonly Parameter[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, DescribedResponse>>;
}

export interface Description {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: {
    readonly responses: Readonly<Record<string, DescribedResponse>>;
    readonly schemas: Readonly<Record<string, { readonly [name: string]: Json }>>;
    readonly securitySchemes: Json;
  };
}

export const isObject = (value: Json | undefined): value is { [name: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const readDescription = async (address: string): Promise<Description> =>
  (await (await fetch(address)).json()) as Description;

export const operationsOf = ({ paths, components }: Description) =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { responses, ...operation }]) => ({
      name: `${method.toUpperCase()} ${path}`,
      method: method.toUpperCase() as 'GET' | 'POST',
      path,
      operation: {
        ...operation,
        responses: Object.fromEntries(
          Object.entries(responses).map(([status, response]) => [
            status,
            resolve(response, components.responses),
          ]),
        ),
      } satisfies Operation,
    })),
  );

const resolve = (
  response: DescribedResponse & { readonly $ref?: string },
  shared: Readonly<Record<string, DescribedResponse>>,
) => shared[response.$ref?.split('/').at(-1) ?? ''] ?? response;

export const scopesOf = ({ security = [] }: Operation): string[] =>
  security.flatMap((schemes) => Object.values(schemes).flat());

export const examplesOf = (media: Media | undefined): Json[] => [
  ...Object.values(media?.examples ?? {}).map(({ value }) => value),
  ...(media?.example === undefined ? [] : [media.example]),
];

/** Expects Swagger UI to load everything from the service, and to be allowed nothing else. */
export async function expectPage(address: string, title: string): Promise<void> {
  const response = await fetch(address);
  const html = await response.text();
  expect([response.status, response.headers.get('Content-Type')]).toEqual([200, 'text/html; charset=utf-8']);
  expect(html).toContain(`<title>${title}</title>`);

  const hashesOf = (pattern: RegExp) =>
    [...html.matchAll(pattern)].map(
      ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    );
  expect(response.headers.get('Content-Security-Policy')).toBe(
    [
      "default-src 'none'",
      "script-src 'self'",
      `style-src 'self' ${hashesOf(/<style>([^]*?)<\/style>/g).join(' ')}`,
      `style-src-attr 'unsafe-hashes' ${hashesOf(/\sstyle="([^"]*)"/g).join(' ')}`,
      "img-src 'self' data:",
      "connect-src 'self'",
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join(';'),
  );
  expect(html.match(/<script(?![^>]*\ssrc=)/g)).toBeNull();

  const assets = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(
    ([, asset = '']) => new URL(asset, response.url),
  );
  expect(assets.length).toBeGreaterThan(3);
  for (const asset of assets) {
    expect(asset.origin).toBe(new URL(address).origin);
    const loaded = await fetch(asset);
    expect([asset.pathname, loaded.status]).toEqual([asset.pathname, 200]);
    expect((await loaded.text()).length).toBeGreaterThan(100);
  }
}
