import { type Environment, EnvironmentError, readEnvironment } from './environment';

type Changes = { readonly [Group in keyof Environment]?: Partial<Environment[Group]> };
type Variables = Readonly<Record<string, string | undefined>>;

function problemsOf(variables: Variables): readonly string[] {
  try {
    readEnvironment(variables);
    return [];
  } catch (error) {
    if (error instanceof EnvironmentError) return error.problems;
    throw error;
  }
}

const KEY = 'c0ffee-c0ffee';
const BOT_TOKEN = '123456789:AAExampleExampleExampleExampleExample';
const DATABASE = 'postgres://user:hunter2@db.internal:5432/proxies';

describe('The environment', () => {
  it('may be empty, and is then what a fresh checkout runs with', () => {
    expect(readEnvironment({ LOG_FORMAT: 'json' })).toEqual({
      server: {
        host: '127.0.0.1',
        port: 3000,
        publicUrl: undefined,
        trustedProxies: [],
        maxConnections: 2000,
        keepAliveSeconds: 65,
        drainSeconds: 0,
      },
      database: { url: undefined, ownerUrl: undefined, migrateOnStart: true, poolSize: 16 },
      limits: {
        tokenRequestsPerMinute: 120_000,
        userRequestsPerMinute: 240_000,
        addressFailuresPerMinute: 600,
      },
      provider: {
        kind: 'sandbox',
        apiKey: undefined,
        apiKeyFile: undefined,
        baseUrl: 'https://px6.link',
        timeoutMs: 30_000,
        ratePerSecond: 3,
        lowBalance: '1000.00',
      },
      purchases: { waitMs: 20_000, replayDays: 30 },
      reconciliation: { settlementDelaySeconds: 600 },
      sweep: { intervalSeconds: 900 },
      pricing: { markupPercent: '20' },
      proxies: { expiringHours: [72, 24, 1] },
      proxyChecks: { echoUrl: undefined },
      links: { maxPerUser: 100 },
      webhooks: { maxPerUser: 10, allowHttp: false, allowedNetworks: [] },
      telegram: {
        botToken: undefined,
        scopes: ['profile:read', 'countries:read', 'price:read', 'proxies:read'],
      },
      audit: { time: 180 },
      retention: { providerCallDays: 180, historyDays: 365, auditLogReadDays: 0, eventDays: 30 },
      payments: {
        provider: 'sandbox',
        shopId: undefined,
        secretKey: undefined,
        baseUrl: 'https://api.yookassa.ru/v3',
        receipt: undefined,
        register: undefined,
        receiptItem: 'Пополнение баланса',
        min: '100.00',
        max: '100000.00',
        returnUrl: undefined,
        compareSeconds: 3600,
        sourcesFile: undefined,
      },
      agents: { oauth: 'off' },
      compatible: { px6: 'off' },
      local: { dataDir: '.data' },
      outgoing: { httpsProxy: undefined, noProxy: '' },
      metrics: { port: undefined, host: '127.0.0.1' },
      traces: { url: undefined, ratio: 1 },
      log: { level: 'info', format: 'json' },
      tuning: {},
    } satisfies Environment);
  });

  it.each<[name: string, value: string, read: Changes]>([
    ['HOST', '0.0.0.0', { server: { host: '0.0.0.0' } }],
    ['PORT', '0', { server: { port: 0 } }],
    ['PORT', '65535', { server: { port: 65_535 } }],
    ['PUBLIC_URL', 'https://Proxies.example.com/', { server: { publicUrl: 'https://proxies.example.com' } }],
    ['PUBLIC_URL', 'http://10.0.0.7:8080/shop/', { server: { publicUrl: 'http://10.0.0.7:8080/shop' } }],
    ['MAX_LINKS_PER_USER', '0', { links: { maxPerUser: 0 } }],
    ['TRUSTED_PROXIES', '10.0.0.7', { server: { trustedProxies: ['10.0.0.7'] } }],
    ['TRUSTED_PROXIES', '10.0.0.0/8, fd00::/8', { server: { trustedProxies: ['10.0.0.0/8', 'fd00::/8'] } }],
    ['DB_POOL_SIZE', '2', { database: { poolSize: 2 } }],
    ['DATA_DIR', '/var/lib/with spaces', { local: { dataDir: '/var/lib/with spaces' } }],
    ['MIGRATE_ON_START', 'false', { database: { migrateOnStart: false } }],
    ['MIGRATE_ON_START', 'true', { database: { migrateOnStart: true } }],
    ['PROVIDER', 'sandbox', { provider: { kind: 'sandbox' } }],
    ['PROVIDER_TIMEOUT_MS', '100', { provider: { timeoutMs: 100 } }],
    ['PROVIDER_RATE_PER_SECOND', '10', { provider: { ratePerSecond: 10 } }],
    ['PROVIDER_RATE_PER_SECOND', '0', { provider: { ratePerSecond: 0 } }],
    ['PROVIDER_LOW_BALANCE', '0', { provider: { lowBalance: '0' } }],
    ['PROVIDER_LOW_BALANCE', '5000.50', { provider: { lowBalance: '5000.50' } }],
    ['PURCHASE_WAIT_MS', '0', { purchases: { waitMs: 0, replayDays: 30 } }],
    ['SETTLEMENT_DELAY_SECONDS', '1', { reconciliation: { settlementDelaySeconds: 1 } }],
    ['SWEEP_INTERVAL_SECONDS', '60', { sweep: { intervalSeconds: 60 } }],
    ['MARKUP_PERCENT', '0', { pricing: { markupPercent: '0' } }],
    ['MARKUP_PERCENT', '12.5', { pricing: { markupPercent: '12.5' } }],
    ['TELEGRAM_BOT_TOKEN', BOT_TOKEN, { telegram: { botToken: BOT_TOKEN } }],
    ['TELEGRAM_SCOPES', 'a:b, c:d,a:b', { telegram: { scopes: ['a:b', 'c:d'] } }],
    ['AUDIT_TIME', '00:00', { audit: { time: 0 } }],
    ['AUDIT_TIME', '23:59', { audit: { time: 1439 } }],
    ['AUDIT_TIME', 'off', { audit: { time: null } }],
    ['AUDIT_LOG_READ_DAYS', '365', { retention: { auditLogReadDays: 365 } }],
    ['PROVIDER_CALL_DAYS', '0', { retention: { providerCallDays: 0 } }],
    ['TRACES_URL', 'http://127.0.0.1:4318/v1/traces', { traces: { url: 'http://127.0.0.1:4318/v1/traces' } }],
    [
      'HTTPS_PROXY',
      'http://me:secret@proxy:3128',
      { outgoing: { httpsProxy: 'http://me:secret@proxy:3128/' } },
    ],
    ['NO_PROXY', '.internal,10.0.0.0/8', { outgoing: { noProxy: '.internal,10.0.0.0/8' } }],
    ['TRACES_RATIO', '0.05', { traces: { ratio: 0.05 } }],
    ['LOG_LEVEL', 'debug', { log: { level: 'debug' } }],
    ['LOG_FORMAT', 'pretty', { log: { format: 'pretty' } }],
    ['LOG_FORMAT', 'json', { log: { format: 'json' } }],
  ])('reads %s=%s', (name, value, read) => {
    const expected: Record<string, unknown> = { ...readEnvironment({}) };
    for (const [group, settings] of Object.entries(read)) {
      expected[group] = Object.assign({}, expected[group], settings);
    }
    expect(readEnvironment({ [name]: value })).toEqual(expected);
  });

  it.each([
    [true, 'pretty'],
    [false, 'json'],
  ])('has the log, with a terminal to write to: %s, as %s', (isTerminal, format) => {
    const { isTTY } = process.stdout;
    Object.assign(process.stdout, { isTTY: isTerminal });
    expect(readEnvironment({})).toMatchObject({ log: { format } });
    Object.assign(process.stdout, { isTTY });
  });

  it('names the database of DATABASE_URL in either spelling', () => {
    for (const url of [DATABASE, DATABASE.replace('postgres:', 'postgresql:')]) {
      expect(readEnvironment({ DATABASE_URL: url, PROVIDER: 'sandbox' }).database.url).toBe(url);
    }
  });

  it('takes a variable without a value, or with spaces alone, for one that is not there', () => {
    const empty = {
      PORT: '',
      DATABASE_URL: '',
      PX6_API_KEY: ' ',
      PROVIDER: '',
      MARKUP_PERCENT: '\t',
      LOG_LEVEL: '',
    };
    expect(readEnvironment(empty)).toEqual(readEnvironment({}));
  });

  it('ignores what is none of its own', () => {
    expect(readEnvironment({ PATH: '/bin', port: '80' })).toEqual(readEnvironment({}));
  });

  it.each([
    ['u:a#hunter2@db/x', 'must write # as %23, for example in the password'],
    ['u:a%hunter2@db/x', 'must write % as %25, for example in the password'],
    ['u:hunter2@a:5432,b:5432/x', 'must name a single host, such as a proxy in front of several'],
    ['a,b/x', 'must name a single host, such as a proxy in front of several'],
    ['u:hunter2@/x?host=/run', 'must name a host; for a socket, use localhost/database?host=/its/directory'],
    ['/x', 'must name a host; for a socket, use localhost/database?host=/its/directory'],
  ])('says what is wrong with the database URL postgres://%s', (url, complaint) => {
    const read = () => readEnvironment({ DATABASE_URL: `postgres://${url}`, PROVIDER: 'sandbox' });
    expect(read).toThrow(new EnvironmentError([`DATABASE_URL ${complaint}`]));
  });

  it('cannot be changed once read', () => {
    const environment = readEnvironment({});
    for (const part of [environment, ...Object.values(environment)]) expect(Object.isFrozen(part)).toBe(true);
  });

  it.each<[name: string, complaint: string, values: string]>([
    ['PORT', 'must be a whole number from 0 to 65535', '65536|-1|80.5|8o|0x50|1e3|99999999999999'],
    [
      'TRUSTED_PROXIES',
      'must be addresses and networks in CIDR notation, e.g. 10.0.0.0/8,::1',
      'loopback|true|10.0.0.0/33|::/129|0.0.0.0/0|::/0|10.0.0.0/255.0.0.0|10.0.0.0/8/8|10.0.0.0/|10.0.0/8' +
        '|10.0.0.1,,10.0.0.2',
    ],
    [
      'PUBLIC_URL',
      'must be an HTTP(S) URL without login, query or fragment',
      'proxies.example.com|ftp://proxies.example.com|https://anna:secret@proxies.example.com' +
        '|https://proxies.example.com?a=b|https://proxies.example.com/#top',
    ],
    ['MAX_LINKS_PER_USER', 'must be a whole number from 0 to 10000', '-1|10001'],
    [
      'TELEGRAM_BOT_TOKEN',
      'must be the token of a bot, as BotFather prints it: digits, a colon, and letters',
      `123456789|bot${BOT_TOKEN}|123456789:AAExample Example`,
    ],
    [
      'TELEGRAM_SCOPES',
      'must be customer scopes, e.g. profile:read,proxies:read',
      'all|profile:read,|profile:read proxies:read',
    ],
    ['DB_POOL_SIZE', 'must be a whole number from 2 to 1000', '0|1|1001|many'],
    ['MIGRATE_ON_START', 'must be true or false', 'yes|1|TRUE'],
    ['PROVIDER', 'must be one of px6, sandbox', 'px7|PX6'],
    ['PX6_BASE_URL', 'must be an HTTP(S) URL', 'px6.link|ftp://px6.link'],
    ['PROVIDER_TIMEOUT_MS', 'must be a whole number from 100 to 600000', '99|600001|30s'],
    ['PROVIDER_RATE_PER_SECOND', 'must be a whole number from 0 to 100', '101|2.5'],
    ['PROVIDER_LOW_BALANCE', 'must be an amount in roubles, e.g. 1000.00', '-1|1.234|much'],
    ['PURCHASE_WAIT_MS', 'must be a whole number from 0 to 600000', '-1|600001'],
    ['SETTLEMENT_DELAY_SECONDS', 'must be a whole number from 1 to 86400', '0|86401'],
    ['SWEEP_INTERVAL_SECONDS', 'must be a whole number from 1 to 86400', '0|86401'],
    ['MARKUP_PERCENT', 'must be a decimal number from 0 to 9999, e.g. 12.5', '-5|12,5|20%|.5|10000|1e2'],
    ['AUDIT_TIME', 'must be a time of day in UTC, e.g. 03:00, or `off`', '24:00|3:00|03:60|night'],
    ['AUDIT_LOG_READ_DAYS', 'must be 0, or a whole number from 365 to 36500', '364|36501|1y'],
    ['HISTORY_DAYS', 'must be 0, or a whole number from 30 to 36500', '29|-1'],
    ['LOG_LEVEL', 'must be one of error, warn, info, debug', 'verbose|INFO'],
    ['LOG_FORMAT', 'must be one of pretty, json', 'text'],
    [
      'DATABASE_URL',
      'must be a URL that begins with postgres:// or postgresql://',
      'localhost|mysql://localhost/x',
    ],
  ])('refuses %s that %s: %s', (name, complaint, values) => {
    for (const value of values.split('|')) {
      // The sandbox is configured so that no other database makes the key a second mistake.
      const problems = problemsOf({ ...(name !== 'PROVIDER' && { PROVIDER: 'sandbox' }), [name]: value });
      expect([value, problems]).toEqual([value, [`${name} ${complaint}`]]);
    }
  });
});

describe('Payments', () => {
  it('need the shop at YooKassa, and a way back from its page', () => {
    expect(() => readEnvironment({ PAYMENTS: 'yookassa' })).toThrow(
      /YOOKASSA_SHOP_ID is missing[^]*YOOKASSA_SECRET_KEY is missing[^]*DEPOSIT_RETURN_URL is missing/,
    );
  });

  it('of a sandbox never go to the real provider', () => {
    const own = { PAYMENTS: 'sandbox', PX6_API_KEY: KEY };
    expect(() => readEnvironment(own)).toThrow('YOOKASSA_BASE_URL is missing');
    expect(() => readEnvironment(own)).toThrow('YOOKASSA_SHOP_ID is missing');
  });

  it.each(['PX6_API_KEY', 'YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY'])(
    'of a sandbox are accepted by default only where nothing is real: not with %s',
    (variable) => expect(readEnvironment({ [variable]: KEY }).payments.provider).toBe('off'),
  );

  it('have a receipt with a VAT code from 1 to 12', () => {
    const read = (code: number) => readEnvironment({ YOOKASSA_RECEIPT: `a@example.com:${code}` }).payments;
    expect(read(12).receipt).toEqual({ email: 'a@example.com', vatCode: 12 });
    for (const code of [0, 13, 99]) expect(() => read(code)).toThrow('a VAT code from 1 to 12');
  });

  it('have receipts of an operator whose domain is in Cyrillic letters', () => {
    const read = (email: string) => readEnvironment({ YOOKASSA_RECEIPT: `${email}:1` }).payments.receipt;
    expect(read('info@пример.рф')?.email).toBe('info@xn--e1afmkfd.xn--p1ai');
    for (const odd of ['почта@пример.рф', 'a@b', 'a@b@example.com', '@example.com']) {
      expect(() => read(odd)).toThrow('YOOKASSA_RECEIPT must be an e-mail address with a Latin name');
    }
  });

  it('have the words of a cash register, which are of no use without receipts', () => {
    const read = (register: string) =>
      readEnvironment({ YOOKASSA_RECEIPT: 'a@example.com:1', YOOKASSA_REGISTER: register }).payments;
    expect(read('full_prepayment:service').register).toEqual({ mode: 'full_prepayment', subject: 'service' });
    expect(read('advance:payment:2').register).toMatchObject({ taxSystem: 2 });
    for (const odd of ['advance', 'prepaid:service', 'advance:payment:7', 'advance:payment:', 'a:b']) {
      expect(() => read(odd)).toThrow('YOOKASSA_REGISTER must be a payment mode, a colon');
    }
    expect(problemsOf({ YOOKASSA_REGISTER: 'advance:payment' })).toEqual([
      'YOOKASSA_REGISTER has no effect without YOOKASSA_RECEIPT',
    ]);
  });

  it('may be off on a fresh checkout, too', () => {
    expect(readEnvironment({ PAYMENTS: 'off' }).payments.provider).toBe('off');
  });
});

describe('The provider', () => {
  const MISSING = 'PX6_API_KEY is missing (PROVIDER=sandbox runs without a real provider)';

  it('is the real one as soon as there is a key', () => {
    expect(readEnvironment({ PX6_API_KEY: KEY }).provider).toMatchObject({
      kind: 'px6',
      apiKey: KEY,
      baseUrl: 'https://px6.link',
    });
  });

  it('is asked at PX6_BASE_URL, with or without a slash at its end', () => {
    for (const url of ['https://proxy6.example/v1', 'https://proxy6.example/v1/']) {
      expect(readEnvironment({ PX6_API_KEY: KEY, PX6_BASE_URL: url }).provider).toMatchObject({
        baseUrl: 'https://proxy6.example/v1',
      });
    }
  });

  it('may be the sandbox with any database when that is configured', () => {
    expect(readEnvironment({ DATABASE_URL: DATABASE, PROVIDER: 'sandbox' }).provider).toMatchObject({
      kind: 'sandbox',
      apiKey: undefined,
    });
  });

  it.each<[what: string, variables: Variables, problem: string]>([
    ['a database of its own without a key', { DATABASE_URL: DATABASE }, MISSING],
    ['the real provider without a key', { PROVIDER: 'px6' }, MISSING],
    [
      'the sandbox with a key',
      { PROVIDER: 'sandbox', PX6_API_KEY: KEY },
      'PX6_API_KEY conflicts with PROVIDER=sandbox: set only one of them',
    ],
    [
      'an address of the provider without a key',
      { PX6_BASE_URL: 'https://proxy6.example' },
      'PX6_BASE_URL has no effect without PX6_API_KEY',
    ],
    [
      'a key that would change the address',
      { PX6_API_KEY: 'a/b?c' },
      'PX6_API_KEY must be letters, digits, - and _',
    ],
    [
      'a key that would travel in the clear',
      { PX6_API_KEY: KEY, PX6_BASE_URL: 'http://px6.link' },
      'PX6_BASE_URL must use https unless it is on this machine, because the path contains the key',
    ],
  ])('is refused: %s', (_, variables, problem) => {
    expect(problemsOf(variables)).toEqual([problem]);
  });

  it.each(['http://127.0.0.1:4000', 'http://localhost:4000', 'http://[::1]:4000'])(
    'may be asked in the clear on this machine: %s',
    (url) => {
      expect(problemsOf({ PX6_API_KEY: KEY, PX6_BASE_URL: url })).toEqual([]);
    },
  );
});

describe('The constants that tests replace', () => {
  it('are replaced by name', () => {
    const variables = { TUNING_FOR_TESTS: '{"breakerFailures":3}' };
    expect(readEnvironment(variables)).toEqual({ ...readEnvironment({}), tuning: { breakerFailures: 3 } });
  });

  it.each([
    ['an unknown name', '{"breakerFailure":3}', 'Unrecognized key: "breakerFailure"'],
    ['a text', '{"breakerFailures":"3"}', 'expected number, received string'],
    ['a part', '{"breakerFailures":0.5}', 'expected int, received number'],
    ['no object', '3', 'expected record, received number'],
    ['no JSON', '{', 'expected record, received undefined'],
  ])('are not replaced by %s', (_what, text, complaint) => {
    expect(problemsOf({ TUNING_FOR_TESTS: text })).toEqual([
      expect.stringMatching(new RegExp(`^TUNING_FOR_TESTS .*is not usable: .*${complaint}`)),
    ]);
  });
});

describe('An error in the environment', () => {
  const mistakes = {
    PORT: '70001',
    TRUSTED_PROXIES: 'proxies-7',
    DB_POOL_SIZE: 'pool-of-7',
    DATABASE_URL: 'mysql://admin:hunter2@db.internal/x',
    MIGRATE_ON_START: 'perhaps-7',
    PX6_API_KEY: 'key/with/hunter2',
    PX6_BASE_URL: 'http://elsewhere.example/hunter2',
    PROVIDER: 'provider-7',
    PROVIDER_TIMEOUT_MS: 'long-7',
    PROVIDER_RATE_PER_SECOND: 'fast-7',
    PROVIDER_LOW_BALANCE: 'low-7',
    PURCHASE_WAIT_MS: 'wait-7',
    SETTLEMENT_DELAY_SECONDS: 'delay-7',
    SWEEP_INTERVAL_SECONDS: 'sweep-7',
    MARKUP_PERCENT: 'markup-7',
    LOG_LEVEL: 'level-7',
    LOG_FORMAT: 'format-7',
    TUNING_FOR_TESTS: '{"pingTimeoutMs":"ping-7"}',
  };

  it('is reported with all others, one line for each variable', () => {
    const problems = problemsOf(mistakes);
    expect(problems).toHaveLength(Object.keys(mistakes).length);
    expect(new Set(problems.map((problem) => problem.split(' ')[0]))).toEqual(new Set(Object.keys(mistakes)));
    expect(() => readEnvironment(mistakes)).toThrow(`The environment is invalid: ${problems.join('; ')}`);
  });

  it('is reported without the values', () => {
    const reported = problemsOf(mistakes).join('\n');
    for (const value of [...Object.values(mistakes), 'hunter2', 'admin', 'db.internal', 'elsewhere']) {
      expect(reported).not.toContain(value);
    }
  });
});
