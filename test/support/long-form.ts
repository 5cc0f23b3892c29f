/** `npm run test:long` makes many. */
export const inLongForm = (many: number, enough: number): number =>
  process.env['TEST_LONG_FORM'] === undefined ? enough : many;
