import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { Test } from '@nestjs/testing';
import { BooleanField, IntegerField, OptionalStringField, StringField } from './fields';

class Shelf {
  @StringField({ minLength: 2, maxLength: 4 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0, atMost: 1000, default: 1 })
  readonly count!: number;

  @OptionalStringField({ pattern: '^(http|socks)$' })
  readonly proxy_type!: 'http' | 'socks' | null;

  @BooleanField({ default: false })
  readonly active_only!: boolean;
}

class Item {
  @StringField({ minLength: 2, maxLength: 4 })
  readonly country!: string;

  @IntegerField({ greaterThan: 0, atMost: 1000, default: 1 })
  readonly count!: number;
}

@Controller('shelves')
class ShelvesController {
  @Get()
  list(@Query() shelf: Shelf): Shelf {
    return shelf;
  }

  @Post()
  create(@Body() item: Item): Item {
    return item;
  }
}

describe('the fields of a request DTO', () => {
  const schemas = {
    country: { type: 'string', minLength: 2, maxLength: 4, title: 'Country' },
    count: { type: 'integer', maximum: 1000, exclusiveMinimum: 0, default: 1, title: 'Count' },
    proxy_type: {
      anyOf: [{ type: 'string', pattern: '^(http|socks)$' }, { type: 'null' }],
      title: 'Proxy Type',
    },
    active_only: { type: 'boolean', default: false, title: 'Active Only' },
  };

  it('are described as OpenAPI 3.1 has it, as parameters and as a schema', async () => {
    const moduleRef = await Test.createTestingModule({ controllers: [ShelvesController] }).compile();
    const app = moduleRef.createNestApplication({ logger: false });
    const description = SwaggerModule.createDocument(
      app,
      new DocumentBuilder().setOpenAPIVersion('3.1.0').build(),
    );
    await app.close();

    expect(description.paths['/shelves']?.get?.parameters).toEqual(
      Object.entries(schemas).map(([name, schema]) => ({
        name,
        in: 'query',
        required: name === 'country',
        schema,
      })),
    );
    expect(description.components?.schemas?.['Item']).toEqual({
      type: 'object',
      required: ['country'],
      properties: { country: schemas.country, count: schemas.count },
    });
  });
});
