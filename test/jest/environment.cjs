const { AsyncLocalStorage } = require('node:async_hooks');
const { TestEnvironment } = require('jest-environment-node');

/** Classes of objects that tests and the application pass to each other and check with `instanceof`. */
const CLASSES = [
  'AggregateError Array Boolean Date Error Map Number Object',
  'RangeError RegExp Set String SyntaxError TypeError',
].join(' ');

/** The service's log, and Nest's own, which a testing module writes. */
const LOGGED = /^(\{"level":|\S*\[Nest\] )/;

const log = [];
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (text, ...others) => {
    if (!LOGGED.test(text)) return write(text, ...others);
    log.push(String(text).trimEnd());
    return true;
  };
}

/** Node and packages warn of code that breaks with a later release. */
const deprecations = [];
process.on('warning', (warning) => {
  if (warning.name === 'DeprecationWarning') deprecations.push(warning);
});

/** Node copies each enabled storage to every new promise, so leftover storages slow the worker down. */
const storages = new Set();
const runIn = Reflect.get(AsyncLocalStorage.prototype, 'run');
AsyncLocalStorage.prototype.run = function runAndRegister(...parameters) {
  storages.add(this);
  return Reflect.apply(runIn, this, parameters);
};

const exit = process.exit.bind(process);

/** Shares the application's globals with its tests, and shows its log with a failed test. */
module.exports = class extends TestEnvironment {
  constructor(...parameters) {
    super(...parameters);
    for (const name of [...CLASSES.split(' '), 'Reflect', 'process']) this.global[name] = globalThis[name];
  }

  handleTestEvent({ name, test }) {
    if (name !== 'test_done') return;
    test.errors.push(...deprecations.splice(0));
    if (test.errors.length > 0 && log.length > 0) {
      test.errors.push([{ stack: ['The service logged:', ...log].join('\n') }]);
    }
    log.length = 0;
  }

  async teardown() {
    await super.teardown();
    // Jest replaces the exit of a test's process, which is this process.
    process.exit = exit;
    // A storage of the application is enabled again by its next use.
    for (const storage of storages) storage.disable();
    storages.clear();
    const [deprecation] = deprecations.splice(0);
    if (deprecation) throw deprecation;
  }
};
