/** `npm run test:long` makes many. */
export const inLongForm = <Value>(many: Value, enough: Value): Value =>
  process.env['TEST_LONG_FORM'] === undefined ? enough : many;
