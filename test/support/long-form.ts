/** How many of something a test makes: many with `npm run test:long`, otherwise enough for each commit. */
export const inLongForm = (many: number, enough: number): number =>
  process.env['TEST_LONG_FORM'] === undefined ? enough : many;
