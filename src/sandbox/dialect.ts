import { z } from 'zod';

/**
 * Settings for behaviour that the provider's documentation does not define, or in which its mirrors differ.
 * The settings are independent of each other.
 */
const dialectSchema = z.strictObject({
  /** Comments that `getproxy?descr=…` finds. */
  descrFilter: z.enum(['exact', 'prefix', 'substring', 'ignored']),
  /** Maximum number of proxies on a page of getproxy, even with a higher `limit`. */
  pageLimit: z.int().min(1).max(1000),
  /**
   * Order of getproxy: by id, another fixed order, or an order that begins at another proxy with each
   * request, so that a proxy can be on two pages or on none.
   */
  pageOrder: z.enum(['sorted', 'unsorted', 'moving']),
  /** Form of numbers: as published, which differs by field and method, or all in the same way. */
  numbers: z.enum(['published', 'strings', 'numbers']),
});

export type Dialect = Readonly<z.output<typeof dialectSchema>>;

/** The dialect of the published interface. */
export const DEFAULT_DIALECT: Dialect = {
  descrFilter: 'exact',
  pageLimit: 1000,
  pageOrder: 'sorted',
  numbers: 'published',
};

/** Reads the given settings only. @throws ZodError */
export const readDialect = (values: unknown): Partial<Dialect> =>
  dialectSchema.partial().parse(values) as Partial<Dialect>;
