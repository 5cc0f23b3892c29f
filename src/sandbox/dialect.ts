import { z } from 'zod';

/**
 * What the provider's documentation leaves open, or what its mirrors do differently. Each setting is
 * independent of the others.
 */
const dialectSchema = z.strictObject({
  /** Which comments `getproxy?descr=…` finds. */
  descrFilter: z.enum(['exact', 'prefix', 'substring', 'ignored']),
  /** The most proxies on a page of getproxy, whatever `limit` says. */
  pageLimit: z.int().min(1).max(1000),
  /**
   * The order of getproxy: by id, an order of its own, or one that begins at another proxy with each
   * request, so that a proxy can be on two pages or on none.
   */
  pageOrder: z.enum(['sorted', 'unsorted', 'moving']),
  /** How numbers are written: as published, which differs by field and method, or all in one way. */
  numbers: z.enum(['published', 'strings', 'numbers']),
});

export type Dialect = Readonly<z.output<typeof dialectSchema>>;

/** What the published interface says. */
export const DEFAULT_DIALECT: Dialect = {
  descrFilter: 'exact',
  pageLimit: 1000,
  pageOrder: 'sorted',
  numbers: 'published',
};

/** The given settings alone. @throws ZodError */
export const readDialect = (values: unknown): Partial<Dialect> =>
  dialectSchema.partial().parse(values) as Partial<Dialect>;
