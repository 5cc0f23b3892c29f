const { availableParallelism } = require('node:os');

// Each worker starts with this option. With the usual 16 MB, much of what a request needs survives a
// collection and is copied, which took a tenth of the workers' processor time (2026-11-26).
process.execArgv.push('--max-semi-space-size=64');

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '.',
  testEnvironment: '<rootDir>/test/jest/environment.cjs',
  testEnvironmentOptions: { globalsCleanup: 'off' },
  runtime: '<rootDir>/test/jest/runtime.cjs',
  testSequencer: '<rootDir>/test/jest/sequencer.cjs',
  dependencyExtractor: '<rootDir>/test/jest/dependencies.cjs',
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  // Its options are those of .swcrc, by which `npm run start:dev` compiles as well.
  transform: { '^.+\\.(t|j)s$': '@swc/jest' },
  watchman: false,
  // Longer than any test takes on a busy machine.
  testTimeout: 60_000,
  // Most of a test's time is waiting for other processes: a worker for each core would leave the cores idle.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
};
