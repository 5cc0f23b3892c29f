const { createRequire } = require('node:module');
const { addHook } = require('pirates');
const { default: JestRuntime } = require('jest-runtime');

/** What Jest evaluates anew for each test file, with globals of its own: the tests and what supports them. */
const isOfTests = (path) =>
  /\/test\/|\.spec\.ts$/.test(path) && !/\/node_modules\/|\/test\/jest\//.test(path);

/** The files of the application that this process has loaded, and where Jest's transformer put their source maps. */
const loaded = new Map();
let ofThisTest = loaded;
let unhook;

/**
 * Loads the application and all packages as Node itself does, once for a worker, where Jest would evaluate each of
 * their thousands of modules anew for each test file.
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
