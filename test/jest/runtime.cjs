const { createRequire } = require('node:module');
const { default: JestRuntime } = require('jest-runtime');
const { addHook } = require('pirates');

/** Tests and their support: Jest evaluates these for each test file, with globals of its own. */
const isOfTests = (path) =>
  /\/test\/|\.spec\.ts$/.test(path) && !/\/node_modules\/|\/test\/jest\//.test(path);

/** The source maps of the application's files, by path, for the stacks of errors. */
const loaded = new Map();
let ofThisTest = loaded;
let unhook;

/**
 * Loads the application and all packages as Node does: once in each worker. Jest alone would evaluate their
 * thousands of modules for each test file, which took 2.4 s.
 */
module.exports = class Runtime extends JestRuntime {
  constructor(config, environment, resolver, transformer, ...others) {
    super(config, environment, resolver, transformer, ...others);
    ofThisTest = this.getSourceMaps();
    for (const [path, map] of loaded) ofThisTest.set(path, map);
    unhook ??= addHook(
      (source, path) => {
        const { code, sourceMapPath } = transformer.transform(path, {}, source);
        for (const maps of [loaded, ofThisTest]) maps.set(path, sourceMapPath);
        return code;
      },
      { exts: ['.ts'] },
    );
  }

  requireModuleOrMock(from, name) {
    if (name === '@jest/globals') return super.requireModuleOrMock(from, name);
    const load = createRequire(from);
    return isOfTests(load.resolve(name)) ? super.requireModuleOrMock(from, name) : load(name);
  }
};
