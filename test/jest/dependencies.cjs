const { existsSync } = require('node:fs');
const paths = require('node:path');

const SOURCES = paths.join(__dirname, '..', '..', 'src') + paths.sep;

const isSource = (path) => path.startsWith(SOURCES);
const moduleOf = (path) => isSource(path) && path.slice(SOURCES.length).split(paths.sep, 1)[0];

function namesake(path) {
  const module = paths.basename(path).split(/[-.]/, 1)[0];
  return existsSync(paths.join(SOURCES, module, 'index.ts')) ? [`../src/${module}`] : [];
}

/** For `npm run test:watch`: a change reruns the tests that import its module or are named after it. */
module.exports = {
  extract(code, path, extract) {
    if (path.includes('/test/support/')) return new Set();
    const dependencies = [...extract(code, path)];
    if (path.endsWith('.e2e-spec.ts')) dependencies.push(...namesake(path));
    if (!isSource(path)) return new Set(dependencies);
    return new Set(dependencies.filter((name) => moduleOf(paths.join(path, '..', name)) === moduleOf(path)));
  },
  getCacheKey: () => 'test/jest/dependencies',
};
