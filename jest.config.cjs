const { availableParallelism } = require('node:os');

/** Nest 12 and what it loads are ES modules. Jest runs CommonJS, so these packages are transformed too. */
const ES_MODULES = [
  '@nestjs',
  'file-type',
  'strtok3',
  'token-types',
  'uint8array-extras',
  '@tokenizer',
  '@borewit',
  'simple-socks',
  // Loads a module of Node by import(), which Jest knows of in what it transforms only.
  '@opentelemetry/otlp-exporter-base',
];

/** @type {import('jest').Config} */
module.exports = {
  rootDir: '.',
  testEnvironment: 'node',
  testMatch: ['<rootDir>/src/**/*.spec.ts', '<rootDir>/test/**/*.e2e-spec.ts'],
  globalSetup: '<rootDir>/test/support/global-setup.ts',
  globalTeardown: '<rootDir>/test/support/global-teardown.ts',
  transform: {
    '^.+\\.(t|j)s$': [
      '@swc/jest',
      {
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          transform: { legacyDecorator: true, decoratorMetadata: true },
        },
        module: { type: 'commonjs' },
      },
    ],
  },
  transformIgnorePatterns: [`/node_modules/(?!(${ES_MODULES.join('|')})/)`],
  testTimeout: 20_000,
  // Most of a test's time is waiting for other processes: a worker for each core would leave the cores idle.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
};
