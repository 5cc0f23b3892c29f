// Compiles TypeScript as it is required, by .swcrc: `npm run start:dev` watches the sources.
const { transformSync } = require('@swc/core');
const { addHook } = require('pirates');

addHook((source, filename) => transformSync(source, { filename, sourceMaps: 'inline' }).code, {
  exts: ['.ts'],
});
