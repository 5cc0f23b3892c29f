import type { OpenAPIObject } from '@nestjs/swagger';

type Part = Readonly<Record<string, unknown>>;

/** Keywords whose values are data, not schemas. */
const DATA: ReadonlySet<string> = new Set(['default', 'enum', 'example', 'examples']);

/** Some code generators need OpenAPI 3.0, which has no webhooks. */
export function toOpenApi30(document: OpenAPIObject): OpenAPIObject {
  const { webhooks: _, info, ...rest } = document;
  const { name = '' } = info.license ?? {};
  // OpenAPI 3.0 has no `identifier`. The licence's name is a valid SPDX identifier.
  const license = { name, url: `https://spdx.org/licenses/${name}.html` };
  return { ...(convert(rest) as OpenAPIObject), openapi: '3.0.3', info: { ...info, license } };
}

function convert(value: unknown, areNames = false): unknown {
  if (Array.isArray(value)) return value.map((item) => convert(item));
  if (typeof value !== 'object' || value === null) return value;
  const part = Object.fromEntries(
    Object.entries(value).map(([name, child]) => [
      name,
      DATA.has(name) && !areNames ? (child as unknown) : convert(child, name === 'properties' && !areNames),
    ]),
  );
  return areNames ? part : convertSchema(part);
}

/** Also converts media types, whose `examples` are an object. */
function convertSchema({ anyOf, examples, exclusiveMinimum, ...part }: Part): Part {
  return {
    ...part,
    ...(Array.isArray(anyOf) && convertChoice(anyOf as readonly Part[])),
    ...(Array.isArray(examples)
      ? { example: examples[0] as unknown }
      : examples !== undefined && { examples }),
    ...(exclusiveMinimum !== undefined && { minimum: exclusiveMinimum, exclusiveMinimum: true }),
  };
}

function convertChoice(members: readonly Part[]): Part {
  const others = members.filter(({ type }) => type !== 'null');
  if (others.length === members.length) return { anyOf: members };
  const [first, ...more] = others.map(toNullable);
  return more.length === 0 ? { ...first } : { anyOf: [first, ...more] };
}

/** Does not add null to enums or a type to references, because some generators cannot handle either. */
const toNullable = ({ $ref, ...schema }: Part): Part => ({
  ...($ref === undefined ? schema : { allOf: [{ $ref }] }),
  nullable: true,
});
