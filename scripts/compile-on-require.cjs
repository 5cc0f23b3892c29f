// Compiles each TypeScript file as it is required, by .swcrc, for `npm run start:dev`: Node watches the sources.
const { transformSync } = require('@swc/core');
const { addHook } = require('pirates');

addHook((source, filename) => transformSync(source, { filename, sourceMaps: 'inline' }).code, {
  exts: ['.ts'],
});
