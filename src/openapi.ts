import type { NestExpressApplication } from '@nestjs/platform-express';
import { DocumentBuilder, type OpenAPIObject, SwaggerModule } from '@nestjs/swagger';

/** The description of the customers' interface. */
export function describeApi(app: NestExpressApplication): OpenAPIObject {
  const builder = new DocumentBuilder()
    .setOpenAPIVersion('3.1.0')
    .setTitle('Proxy Rental Service')
    .setVersion('0.1.0')
    .setDescription(
      'Rents out proxies from a prepaid balance in roubles. Every error has a `detail`; every answer carries `X-Request-Id`.',
    )
    .addBearerAuth(
      { type: 'http', scheme: 'bearer', bearerFormat: 'prx_…', description: 'An API token' },
      'bearer',
    );
  const document = SwaggerModule.createDocument(app, builder.build());
  for (const [name, schema] of Object.entries(document.components?.schemas ?? {}))
    Object.assign(schema, { title: name });
  return document;
}

/** Serves `/openapi.json` and Swagger UI at `/docs`. */
export function serveDescription(app: NestExpressApplication): void {
  SwaggerModule.setup('docs', app, () => describeApi(app), {
    jsonDocumentUrl: 'openapi.json',
    yamlDocumentUrl: 'openapi.yaml',
    customSiteTitle: 'Proxy Rental Service',
    swaggerOptions: { persistAuthorization: true, displayRequestDuration: true, tryItOutEnabled: true },
  });
}
