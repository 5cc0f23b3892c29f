import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, extname, join } from 'node:path';
import type { Type } from '@nestjs/common';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';
import type { Application, NextFunction, Request, RequestHandler, Response } from 'express';
import { contentSecurityPolicy } from 'helmet';
import { plainAddress } from '../../common';
import { RequestLimits } from '../limits/request-limits';
import { STRICT_EXTENSION } from '../validation/strict-request';
import { addCommonResponses, liftParameterExamples } from './common-responses';
import { describeNull } from './describe-null';
import { addEmptyForms, condenseOperations, offerWords } from './empty-forms';
import { compareOperations, fillKeys, filterOperations, openForms, PAGE_STYLE } from './swagger-page';
import { toOpenApi30 } from './to-openapi-30';
import { writtenOnce } from './written-once';

/** An API that has its own OpenAPI description. */
export interface ApiInterface {
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly scheme: string;
  /** Scope that allows every GET, as an alternative to the operation's own scope. */
  readonly readScope?: string;
  readonly tags: Readonly<Record<string, string>>;
  readonly modules: readonly Type[];
  readonly webhooks?: NonNullable<OpenAPIObject['webhooks']>;
}

function describe(
  app: NestExpressApplication,
  { title, version, description, scheme, readScope, tags, modules, webhooks }: ApiInterface,
): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle(title)
    .setVersion(version)
    .setDescription(description)
    // Generated clients need a server URL; `/` is relative to the description's own URL.
    .addServer('/')
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'prx_…', description: 'An API token' },
      scheme,
    );
  for (const [name, text] of Object.entries(tags)) builder.addTag(name, text);
  const document = SwaggerModule.createDocument(app, builder.build(), {
    include: [...modules],
    operationIdFactory: (_, method) => method,
  });
  if (webhooks) document.webhooks = webhooks;
  Object.assign(document.info, { license: { name: 'MIT', identifier: 'MIT' } });
  describeObjects(document);
  if (readScope !== undefined) allowReads(document, scheme, readScope);
  addCommonResponses(document);
  liftParameterExamples(document);
  return document;
}

function allowReads({ paths }: OpenAPIObject, scheme: string, scope: string): void {
  for (const { get } of Object.values(paths)) {
    if (!get) continue;
    get.security = [...(get.security ?? []), { [scheme]: [scope] }];
    const forbidden = get.responses['403'];
    if (!forbidden || !('description' in forbidden)) continue;
    forbidden.description = forbidden.description.replace(/lacks `[\w:]+`/, `$& and \`${scope}\``);
  }
}

function describeObjects(document: OpenAPIObject): void {
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {})) {
    Object.assign(schema, { title: name }, STRICT_EXTENSION in schema && { additionalProperties: false });
    Reflect.deleteProperty(schema, STRICT_EXTENSION);
  }
  describeNull(document);
}

/** Stands in for an application without routes, to describe only DTOs. */
const NO_ROUTES = {
  getHttpAdapter: () => ({ getType: () => 'express' }),
  container: { getModules: () => new Map() },
} as unknown as NestExpressApplication;

/** Returns the schemas of these DTOs, and of all DTOs that they refer to, by name. */
export function describeObjectsOf(dtos: readonly Type[]): Readonly<Record<string, object>> {
  const document = SwaggerModule.createDocument(
    NO_ROUTES,
    new DocumentBuilder().setOpenAPIVersion('3.1.0').build(),
    { extraModels: [...dtos], ignoreGlobalPrefix: true },
  );
  describeObjects(document);
  return document.components?.schemas ?? {};
}

const PAGE_ASSETS = [
  'swagger-ui-bundle.js',
  'swagger-ui-standalone-preset.js',
  'swagger-ui.css',
  'favicon-32x32.png',
  'favicon-16x16.png',
];

/** Exact content of the page's style element, including a rule that `@nestjs/swagger` appends. */
const STYLE_ELEMENT = `
  ${PAGE_STYLE}
  .swagger-ui .topbar .download-url-wrapper { display: none }
`;

/** Allows the inline styles of `@nestjs/swagger` by their hashes, because no option removes them. */
const PAGE_POLICY = {
  useDefaults: false,
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: [
      "'self'",
      "'sha256-/jDKvbQ8cdux+c5epDIqkjHbXDaIY8RucT1PmAe8FG4='",
      `'sha256-${createHash('sha256').update(STYLE_ELEMENT).digest('base64')}'`,
    ],
    styleSrcAttr: ["'unsafe-hashes'", "'sha256-ezdv1bOGcoOD7FKudKN0Y2Mb763O6qVtM8LT2mtanIU='"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
};

let assetHandlers: ReadonlyMap<string, readonly RequestHandler[]> | undefined;

/** Loads the files into memory, because `npm ci` may delete them while the service runs. */
function loadAssets(): ReadonlyMap<string, readonly RequestHandler[]> {
  const directory = dirname(createRequire(require.resolve('@nestjs/swagger')).resolve('swagger-ui-dist'));
  assetHandlers ??= new Map(
    PAGE_ASSETS.map((name) => {
      const content = readFileSync(join(directory, name));
      return [name, [writtenOnce(), (_, response) => response.type(extname(name)).send(content)]];
    }),
  );
  return assetHandlers;
}

/** Serves the description as OpenAPI 3.1 and 3.0, in JSON and YAML, and Swagger UI at `/<prefix>docs`. */
export function serveDescription(app: NestExpressApplication, described: ApiInterface, prefix: string): void {
  const path = `${prefix}docs`;
  const files = { openapi: (document: OpenAPIObject) => document, 'openapi-3.0': toOpenApi30 };
  const names = Object.keys(files).flatMap((name) => [`${name}.json`, `${name}.yaml`]);
  const documents = [...names, 'docs/swagger-ui-init.js'].map((name) => prefix + name);
  const limits = app.get(RequestLimits);
  app.use(
    [path, ...documents].map((one) => `/${one}`),
    (request: Request, _: Response, next: NextFunction) => {
      limits.admitPage(plainAddress(request.ip));
      next();
    },
  );
  app.use(`/${path}`, contentSecurityPolicy(PAGE_POLICY));
  const express = app.getHttpAdapter().getInstance() as Application;
  for (const document of documents) express.get(`/${document}`, writtenOnce());
  for (const [name, handlers] of loadAssets()) express.get(`/${path}/${name}`, ...handlers);
  for (const [name, convert] of Object.entries(files)) {
    SwaggerModule.setup(path, app, () => convert(describe(app, described)), {
      ui: false,
      jsonDocumentUrl: `${prefix}${name}.json`,
      yamlDocumentUrl: `${prefix}${name}.yaml`,
    });
  }
  SwaggerModule.setup(
    path,
    app,
    () => offerWords(addEmptyForms(condenseOperations(describe(app, described)))),
    {
      raw: false,
      customSiteTitle: described.title,
      customCss: PAGE_STYLE,
      swaggerOptions: {
        filter: true,
        operationsSorter: compareOperations,
        plugins: [{ fn: { opsFilter: filterOperations } }, fillKeys],
        onComplete: openForms,
        // Hides the list of all schemas.
        defaultModelsExpandDepth: -1,
        persistAuthorization: true,
        // Gives each operation a URL such as `/staff/docs#/Orders/refunds.list`.
        deepLinking: true,
        displayRequestDuration: true,
        // The default layout adds an inline style, and a badge that sends the description to a third party.
        layout: 'BaseLayout',
        tryItOutEnabled: true,
      },
    },
  );
}
