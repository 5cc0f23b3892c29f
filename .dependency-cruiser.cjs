/**
 * The arrows between the modules under src/. A module's front is its index.ts; its other files are private.
 * @type {import('dependency-cruiser').IConfiguration}
 */
const allowed = {
  config: [],
  metrics: ['config'],
  common: ['config', 'metrics'],
  http: ['common', 'metrics'],
  database: ['config', 'common'],
  limits: ['common', 'config', 'database'],
  auth: ['http', 'common', 'database', 'limits'],
  users: ['http', 'common', 'database', 'auth'],
  ledger: ['http', 'common', 'database', 'auth', 'users'],
  provider: ['common', 'config', 'database', 'metrics'],
  pricing: ['common', 'config', 'database', 'users'],
  catalog: ['http', 'common', 'config', 'database', 'metrics', 'provider', 'auth', 'pricing'],
  proxies: ['http', 'common', 'config', 'database', 'auth'],
  links: ['http', 'common', 'config', 'database', 'limits', 'auth', 'proxies'],
  orders: [
    'http',
    'common',
    'config',
    'database',
    'metrics',
    'provider',
    'auth',
    'ledger',
    'pricing',
    'catalog',
    'proxies',
  ],
  usage: ['http', 'common', 'database', 'auth', 'ledger', 'catalog'],
  trials: ['http', 'common', 'config', 'database', 'auth', 'proxies'],
  health: ['common', 'database', 'metrics', 'auth'],
  sales: ['http', 'common', 'database'],
  staff: [
    'http',
    'common',
    'database',
    'users',
    'auth',
    'ledger',
    'orders',
    'provider',
    'pricing',
    'catalog',
    'status',
    'sales',
  ],
  integrity: ['common', 'config', 'database', 'provider', 'orders'],
  status: ['http', 'common', 'database', 'metrics', 'provider', 'orders'],
  local: ['config', 'common', 'database', 'auth', 'users', 'ledger', 'proxies'],
  sandbox: [],
};

module.exports = {
  forbidden: [
    { name: 'no-circular', severity: 'error', from: {}, to: { circular: true } },
    {
      name: 'no-orphans',
      severity: 'error',
      from: { orphan: true, pathNot: ['\\.d\\.ts$', '\\.spec\\.ts$', '/main\\.ts$'] },
      to: {},
    },
    {
      name: 'not-to-private-files',
      comment: 'Other modules import a module through its index.ts only.',
      severity: 'error',
      from: { path: '^src/([^/]+)/' },
      to: { path: '^src/([^/]+)/.+', pathNot: ['^src/$1/', '^src/[^/]+/index\\.ts$'] },
    },
    {
      name: 'no-dev-dependency-in-production',
      severity: 'error',
      from: { path: '^src', pathNot: '\\.spec\\.ts$' },
      to: { dependencyTypes: ['npm-dev', 'npm-no-pkg', 'npm-unknown'], dependencyTypesNot: ['type-only'] },
    },
    ...Object.entries(allowed).map(([from, to]) => ({
      name: `arrows-from-${from}`,
      severity: 'error',
      from: { path: `^src/${from}/`, pathNot: '\\.spec\\.ts$' },
      to: {
        path: '^src/[^/]+/',
        pathNot: [from, ...to].map((module) => `^src/${module}/`),
      },
    })),
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsConfig: { fileName: 'tsconfig.json' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'require', 'node', 'default', 'types'],
    },
  },
};
