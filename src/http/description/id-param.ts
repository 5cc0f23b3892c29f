import { ApiParam } from '@nestjs/swagger';

/** Describes an id that `IdParam` reads. Swagger UI fills in its example, and nothing without one. */
export const ApiIdParam = (name: string, description: string, example?: number) =>
  ApiParam({
    name,
    description,
    schema: {
      type: 'integer',
      minimum: 1,
      maximum: Number.MAX_SAFE_INTEGER,
      ...(example !== undefined && { example }),
    },
  });
