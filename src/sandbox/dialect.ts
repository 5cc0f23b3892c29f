import { z } from 'zod';

const dialectSchema = z.strictObject({
  /** How `getproxy?descr=…` compares its parameter with the proxies' comments. */
  descrFilter: z.enum(['exact', 'prefix', 'substring', 'ignored']),
  /** Maximum length of a getproxy page, even if `limit` is higher. */
  pageLimit: z.int().min(1).max(1000),
  /**
   * Row order of getproxy. `moving` starts each page at a random proxy, so a listing may miss or repeat some.
   */
  pageOrder: z.enum(['sorted', 'unsorted', 'moving']),
  /** `published` sends some fields as strings, others as numbers, as in the provider's documentation. */
  numbers: z.enum(['published', 'strings', 'numbers']),
});

export type Dialect = Readonly<z.output<typeof dialectSchema>>;

export const DEFAULT_DIALECT: Dialect = {
  descrFilter: 'exact',
  pageLimit: 1000,
  pageOrder: 'sorted',
  numbers: 'published',
};

/** @throws ZodError */
export const readDialect = (values: unknown): Partial<Dialect> =>
  dialectSchema.partial().parse(values) as Partial<Dialect>;
