const { TestEnvironment } = require('jest-environment-node');

/** What tests and the application hand to each other and tell apart by its class. */
const CLASSES =
  'AggregateError Array Boolean Date Error Map Number Object RangeError RegExp Set String SyntaxError TypeError';
const LOG_LINE = /^\{"level":/;
const { exit } = process;

/**
 * Gives tests the globals of the application, which Jest does not load, where it matters that they are the same, and
 * keeps the application's log for the tests that fail.
 */
module.exports = class extends TestEnvironment {
  log = [];
  streams = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }));

  constructor(...parameters) {
    super(...parameters);
    for (const name of [...CLASSES.split(' '), 'Reflect', 'process']) this.global[name] = globalThis[name];
  }

  async setup() {
    await super.setup();
    for (const { stream, write } of this.streams) {
      stream.write = (text, ...others) => {
        if (!LOG_LINE.test(text)) return write.call(stream, text, ...others);
        this.log.push(String(text).trimEnd());
        return true;
      };
    }
  }

  handleTestEvent({ name, test }) {
    if (name !== 'test_done') return;
    if (test.errors.length > 0 && this.log.length > 0) {
      test.errors.push([{ stack: ['What the service logged:', ...this.log].join('\n') }]);
    }
    this.log.length = 0;
  }

  async teardown() {
    for (const { stream, write } of this.streams) stream.write = write;
    await super.teardown();
    // Jest has replaced that of the test's process, which is this one.
    process.exit = exit;
  }
};
