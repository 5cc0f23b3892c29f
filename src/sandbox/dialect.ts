import { z } from 'zod';

/** Settings for behaviour that the provider's documentation leaves undefined, or in which mirrors differ. */
const dialectSchema = z.strictObject({
  /** Which comments `getproxy?descr=…` matches. */
  descrFilter: z.enum(['exact', 'prefix', 'substring', 'ignored']),
  /** Maximum number of proxies on a getproxy page, even with a higher `limit`. */
  pageLimit: z.int().min(1).max(1000),
  /**
   * Order of rows in getproxy. `moving` starts at a different proxy with each request, so a proxy can appear
   * on two pages or on none.
   */
  pageOrder: z.enum(['sorted', 'unsorted', 'moving']),
  /** How responses write numbers. `published` mixes strings and numbers, as the documentation does. */
  numbers: z.enum(['published', 'strings', 'numbers']),
});

export type Dialect = Readonly<z.output<typeof dialectSchema>>;

export const DEFAULT_DIALECT: Dialect = {
  descrFilter: 'exact',
  pageLimit: 1000,
  pageOrder: 'sorted',
  numbers: 'published',
};

/** Parses a partial dialect. @throws ZodError */
export const readDialect = (values: unknown): Partial<Dialect> =>
  dialectSchema.partial().parse(values) as Partial<Dialect>;
