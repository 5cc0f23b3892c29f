const { TestEnvironment } = require('jest-environment-node');

/** What tests and the application hand to each other and tell apart by its class. */
const CLASSES = [
  'AggregateError Array Boolean Date Error Map Number Object',
  'RangeError RegExp Set String SyntaxError TypeError',
].join(' ');

/** The lines that the service has logged since the last test ended. They are not printed. */
const log = [];
for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream);
  stream.write = (text, ...others) => {
    if (!String(text).startsWith('{"level":')) return write(text, ...others);
    log.push(String(text).trimEnd());
    return true;
  };
}

/** What Node and packages have warned of since the last test ended: it breaks with a later release. */
const deprecations = [];
process.on('warning', (warning) => {
  if (warning.name === 'DeprecationWarning') deprecations.push(warning);
});

const exit = process.exit.bind(process);

/**
 * Gives tests the globals of the application, which Jest does not load, where it matters that they are the
 * same, and shows what the service logged with the test that fails. A test that uses what is deprecated
 * fails.
 */
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
    const [deprecation] = deprecations.splice(0);
    if (deprecation) throw deprecation;
  }
};
