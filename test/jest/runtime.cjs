const { createRequire } = require('node:module');
const { default: JestRuntime } = require('jest-runtime');
const { addHook } = require('pirates');

/** Jest evaluates tests and their support for each test file. */
const isOfTests = (path) =>
  /\/test\/|\.spec\.ts$/.test(path) && !/\/node_modules\/|\/test\/jest\//.test(path);

const loaded = new Map();
let ofThisTest = loaded;
let unhook;

/** Node loads the application once per worker: loading it for each test file would take 2.4 s. */
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
