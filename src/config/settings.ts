import { z } from 'zod';

/** Finds the text of a variable; undefined if it is not set. */
export type Lookup = (variable: string) => string | undefined;

/** One variable of the environment. */
interface Setting {
  readonly variable: string;
  /** Reads the variable's text. The description of the rule completes the sentence "must be …". */
  readonly rule: z.ZodType<unknown, string>;
  /** As written in the environment. Without a default, the setting may be `undefined`. */
  readonly default?: string | ((given: Lookup) => string);
  /** The documentation's text for a default that is absent or computed. */
  readonly defaultText?: string;
  readonly description: string;
  /** A secret may also be in a file, which {@link fileVariable} names. */
  readonly isSecret?: true;
}

/** The variable that names the file with the value of a secret: `DATABASE_URL_FILE`. */
export const fileVariable = (variable: string): string => `${variable}_FILE`;

const integer = (min: number, max: number) =>
  z
    .string()
    .regex(/^\d{1,12}$/)
    .transform(Number)
    .pipe(z.number().min(min).max(max))
    .describe(`a whole number from ${min} to ${max}`);

const oneOf = <const Choice extends string>(...choices: Choice[]) =>
  z.enum(choices).describe(`one of ${choices.join(', ')}`);

const text = z.string();

const flag = z
  .stringbool({ truthy: ['true'], falsy: ['false'], case: 'sensitive' })
  .describe('true or false');

const time = z
  .string()
  .regex(/^(off|([01]\d|2[0-3]):[0-5]\d)$/)
  .transform((at) => (at === 'off' ? null : Number(at.slice(0, 2)) * 60 + Number(at.slice(3))))
  .describe('a time of the day (UTC), e.g. 03:00, or off');

const MOST_DAYS = 36_500;

/** 0 keeps rows forever. */
const days = (least: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number)
    .refine((count) => count === 0 || (count >= least && count <= MOST_DAYS))
    .describe(`0, or a whole number from ${least} to ${MOST_DAYS}`);

const LONG_ENOUGH_DAYS = 365;

/** Whether nothing of an operator is set: everything runs on this machine, the sandbox of payments too. */
export const isOnItsOwn = (given: Lookup): boolean =>
  ['DATABASE_URL', 'PX6_API_KEY', 'YOOKASSA_BASE_URL', 'YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY'].every(
    (variable) => given(variable) === undefined,
  );

/** The variables that earlier versions read instead of `HISTORY_DAYS`. */
export const HISTORY_BEFORE = [
  'KEPT_ANSWER_DAYS',
  'ORDER_HISTORY_DAYS',
  'RENEWAL_DAYS',
  'TOKEN_SPENDING_DAYS',
] as const;

/** An upgrade must not remove rows that an installation chose to keep for longer, or forever. */
function historyDays(given: Lookup): string {
  const before = HISTORY_BEFORE.map(given).filter((count) => count !== undefined && /^\d{1,5}$/.test(count));
  const longest = Math.max(LONG_ENOUGH_DAYS, ...before.map(Number));
  return String(before.some((count) => Number(count) === 0) ? 0 : Math.min(MOST_DAYS, longest));
}

/** From the first stage to the last; the text may be empty. */
const stages = z
  .string()
  .transform((list) => (list === '' ? [] : list.split(',').map((item) => Number(item.trim()))))
  .pipe(z.array(z.number().int().min(1).max(720)).max(10))
  .refine((hours) => hours.every((each, at) => at === 0 || each < (hours[at - 1] ?? 0)))
  .describe('descending whole numbers of hours from 720 to 1, e.g. 72,24,1');

const percent = z
  .string()
  .regex(/^\d{1,4}(\.\d{1,4})?$/)
  .describe('a decimal number from 0 to 9999, e.g. 12.5');

const roubles = z
  .string()
  .regex(/^\d{1,12}(\.\d{1,2})?$/)
  .describe('an amount in roubles, e.g. 1000.00');

const key = z
  .string()
  .regex(/^[A-Za-z0-9_-]+$/)
  .describe('letters, digits, - and _');

// A network of all addresses is refused: any client could then forge X-Forwarded-For.
const network = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])
  .refine((address) => !address.endsWith('/0'));

const botToken = z
  .string()
  .regex(/^\d{3,20}:[A-Za-z0-9_-]{20,100}$/)
  .describe('the token of a bot, as BotFather prints it: digits, a colon, and letters');

const scopes = z
  .string()
  .regex(/^[a-z]+:[a-z]+( *, *[a-z]+:[a-z]+)*$/)
  .transform((list) => [...new Set(list.split(',').map((scope) => scope.trim()))])
  .describe('scopes of customers, e.g. profile:read,proxies:read');

const networks = z
  .string()
  .transform((list) => (list === '' ? [] : list.split(',').map((item) => item.trim())))
  .pipe(z.array(network))
  .describe('addresses and networks in CIDR notation, e.g. 10.0.0.0/8,::1');

const databaseUrl = z
  .url({ protocol: /^postgres(ql)?$/, normalize: true })
  .describe('a URL that begins with postgres:// or postgresql://');

const LOOPBACK_HOSTS = new Set(['localhost', '127.0.0.1', '[::1]']);

const providerUrl = z
  .url({ protocol: /^https?$/, normalize: true, abort: true })
  .refine((href) => href.startsWith('https:') || LOOPBACK_HOSTS.has(new URL(href).hostname), {
    error: 'must be https unless it is on this machine: the key travels in the path',
  })
  .transform((href) => href.replace(/\/+$/, ''))
  .describe('an HTTP(S) URL');

const judgeUrl = z
  .url({ protocol: /^https?$/, normalize: true })
  .refine((href) => new URL(href).pathname.endsWith('/judge') && new URL(href).search === '')
  .describe('an HTTP(S) URL that ends with /judge');

const publicUrl = z
  .url({ protocol: /^https?$/, normalize: true, abort: true })
  .refine((href) => !/[?#]/.test(href) && new URL(href).username === '' && new URL(href).password === '')
  .transform((href) => href.replace(/\/+$/, ''))
  .describe('an HTTP(S) URL without login, query or fragment');

/** The secret travels in a header. */
const paymentsUrl = publicUrl
  .refine((href) => href.startsWith('https:') || LOOPBACK_HOSTS.has(new URL(href).hostname), {
    error: 'must be https unless it is on this machine: the secret travels in a header',
  })
  .describe('an HTTP(S) URL without login, query or fragment');

const receipt = z
  .string()
  .regex(/^[^\s@:]+@[^\s@:]+:[1-9]\d?$/)
  .transform((both) => {
    const [email = '', vatCode] = both.split(':');
    return { email, vatCode: Number(vatCode) };
  })
  .describe('an e-mail address, a colon and a VAT code, e.g. receipts@example.com:1');

const ratio = z
  .string()
  .regex(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/)
  .transform(Number)
  .describe('a decimal number from 0 to 1, e.g. 0.05');

/** Every setting: where the code finds it (`config.provider.timeoutMs`) and which variable sets it. */
export const SETTINGS = {
  server: {
    host: {
      variable: 'HOST',
      rule: text,
      default: '127.0.0.1',
      description: 'Address to listen on.',
    },
    port: {
      variable: 'PORT',
      rule: integer(0, 65_535),
      default: '3000',
      description: 'Port to listen on. `0` picks a free one.',
    },
    // Never taken from a request, because the client chooses `Host`.
    publicUrl: {
      variable: 'PUBLIC_URL',
      rule: publicUrl,
      defaultText: 'none (secret links begin with `/l/`)',
      description: 'Base URL of the service for customers, e.g. `https://proxies.example.com`.',
    },
    trustedProxies: {
      variable: 'TRUSTED_PROXIES',
      rule: networks,
      default: '',
      defaultText: 'none',
      description: 'Load balancers whose `X-Forwarded-For` is trusted.',
    },
    maxConnections: {
      variable: 'MAX_CONNECTIONS',
      rule: integer(1, 1_000_000),
      default: '2000',
      description:
        'Client connections per replica. More are refused. Without `TRUSTED_PROXIES`, an address gets at ' +
        'most half of them.',
    },
    drainSeconds: {
      variable: 'DRAIN_SECONDS',
      rule: integer(0, 3600),
      default: '0',
      description:
        'Seconds during which a stopping replica still serves requests while `GET /health/ready` returns ' +
        '503, so that load balancers notice.',
    },
  },
  database: {
    url: {
      variable: 'DATABASE_URL',
      rule: databaseUrl,
      isSecret: true,
      defaultText: 'the embedded PostgreSQL, with a demo user',
      description: 'PostgreSQL 15 or later, without a transaction-mode pooler.',
    },
    ownerUrl: {
      variable: 'DATABASE_OWNER_URL',
      rule: databaseUrl,
      isSecret: true,
      defaultText: 'none (the role of `DATABASE_URL` owns the tables)',
      description:
        'The same database, as its owner. Only migrations use it. They create the role of `DATABASE_URL` ' +
        'if necessary, and grant it what the service needs.',
    },
    migrateOnStart: {
      variable: 'MIGRATE_ON_START',
      rule: flag,
      default: 'true',
      description:
        'Whether the start applies pending migrations. Replicas may start at once: a lock serializes ' +
        'them.',
    },
    poolSize: {
      variable: 'DB_POOL_SIZE',
      rule: integer(2, 1000),
      default: '16',
      description: 'Database connections per replica.',
    },
  },
  limits: {
    tokenRequestsPerMinute: {
      variable: 'TOKEN_REQUESTS_PER_MINUTE',
      rule: integer(0, 1_000_000_000),
      default: '120000',
      description: 'Requests per minute and token, across all replicas. `0`: no limit.',
    },
    userRequestsPerMinute: {
      variable: 'USER_REQUESTS_PER_MINUTE',
      rule: integer(0, 1_000_000_000),
      default: '240000',
      description: 'Requests per minute and user, with all tokens together. `0`: no limit.',
    },
    addressFailuresPerMinute: {
      variable: 'ADDRESS_FAILURES_PER_MINUTE',
      rule: integer(0, 1_000_000_000),
      default: '600',
      description:
        'Requests without a valid token or secret link, and failed sign-ins, per minute and address. ' +
        '`0`: no limit.',
    },
  },
  provider: {
    kind: {
      variable: 'PROVIDER',
      rule: oneOf('px6', 'sandbox'),
      default: (given) => (given('PX6_API_KEY') === undefined ? 'sandbox' : 'px6'),
      defaultText: '`px6` with a key, otherwise `sandbox`',
      description: 'The provider. With `DATABASE_URL` and without a key, set `sandbox` explicitly.',
    },
    apiKey: {
      variable: 'PX6_API_KEY',
      rule: key,
      isSecret: true,
      defaultText: 'none (the sandbox is used)',
      description:
        'API key of the account at the provider. Every request URL contains it, so keep these URLs out ' +
        'of logs.',
    },
    apiKeyFile: {
      variable: fileVariable('PX6_API_KEY'),
      rule: text,
      defaultText: 'none',
      description: 'File with the key, read again every few seconds: a new key applies without a restart.',
    },
    baseUrl: {
      variable: 'PX6_BASE_URL',
      rule: providerUrl,
      default: 'https://px6.link',
      description: 'Base URL of the provider. Plain HTTP is accepted on this machine only.',
    },
    timeoutMs: {
      variable: 'PROVIDER_TIMEOUT_MS',
      rule: integer(100, 600_000),
      default: '30000',
      description: 'Time-out of a whole provider call, in milliseconds.',
    },
    ratePerSecond: {
      variable: 'PROVIDER_RATE_PER_SECOND',
      rule: integer(0, 100),
      default: '3',
      description:
        'Calls per second that the provider allows for the key, across all replicas. `0`: no limit.',
    },
    lowBalance: {
      variable: 'PROVIDER_LOW_BALANCE',
      rule: roubles,
      default: '1000.00',
      description: 'Staff are warned when the balance at the provider is below this amount.',
    },
  },
  purchases: {
    waitMs: {
      variable: 'PURCHASE_WAIT_MS',
      rule: integer(0, 600_000),
      default: '20000',
      description: 'Milliseconds that an order waits for a rate permit before it is refunded.',
    },
    replayDays: {
      variable: 'REPLAY_DAYS',
      rule: integer(0, 3650),
      default: '30',
      description:
        'Days after the end of a rental during which a retry of its order still returns logins and ' +
        'passwords.',
    },
  },
  reconciliation: {
    quietSeconds: {
      variable: 'RECONCILE_QUIET_SECONDS',
      rule: integer(1, 86_400),
      default: '600',
      description:
        'An order fails if the provider shows no proxy for it until this many seconds after its deadline.',
    },
  },
  sweep: {
    intervalSeconds: {
      variable: 'SWEEP_INTERVAL_SECONDS',
      rule: integer(1, 86_400),
      default: '900',
      description: "Seconds between full comparisons with the provider's listing.",
    },
  },
  pricing: {
    markupPercent: {
      variable: 'MARKUP_PERCENT',
      rule: percent,
      default: '20',
      description: "Markup on the provider's price where no price rule applies.",
    },
  },
  proxies: {
    expiringHours: {
      variable: 'EXPIRING_HOURS',
      rule: stages,
      default: '72,24,1',
      description: 'Hours before the end of a rental at which `proxy.expiring` is sent. Empty: never.',
    },
  },
  trials: {
    judgeUrl: {
      variable: 'JUDGE_URL',
      rule: judgeUrl,
      defaultText: 'this process when the sandbox runs, otherwise none',
      description:
        'Public URL of `GET /judge` of this service, which proxy checks request through the proxy. ' +
        'Without it, checks are disabled.',
    },
  },
  links: {
    maxPerUser: {
      variable: 'MAX_LINKS_PER_USER',
      rule: integer(0, 10_000),
      default: '100',
      description: 'Secret links per user. `0` also disables existing links.',
    },
  },
  webhooks: {
    maxPerUser: {
      variable: 'MAX_WEBHOOKS_PER_USER',
      rule: integer(0, 1000),
      default: '10',
      description: 'Webhooks per user. `0` prevents new ones.',
    },
    allowHttp: {
      variable: 'WEBHOOK_ALLOW_HTTP',
      rule: flag,
      default: 'false',
      description:
        'Whether webhook URLs may begin with `http://`. Such deliveries can be read and changed in ' +
        'transit.',
    },
    allowedNetworks: {
      variable: 'WEBHOOK_ALLOWED_NETWORKS',
      rule: networks,
      default: '',
      defaultText: 'none (public addresses only)',
      description: 'Non-public addresses and networks to which webhooks may be sent.',
    },
  },
  telegram: {
    botToken: {
      variable: 'TELEGRAM_BOT_TOKEN',
      rule: botToken,
      isSecret: true,
      defaultText: 'none (sign-in with Telegram is disabled)',
      description:
        'Token of the bot whose Mini App customers open. Without it, `POST /auth/telegram` is disabled.',
    },
    scopes: {
      variable: 'TELEGRAM_SCOPES',
      rule: scopes,
      default: 'profile:read,countries:read,price:read,proxies:read',
      description: 'Customer scopes of a sign-in token, separated by commas.',
    },
  },
  audit: {
    /** Minutes after midnight (UTC); null if off. */
    time: {
      variable: 'AUDIT_TIME',
      rule: time,
      default: '03:00',
      description: 'Time of the daily audit (UTC), which checks all changes since the start of yesterday.',
    },
  },
  retention: {
    providerCallDays: {
      variable: 'PROVIDER_CALL_DAYS',
      rule: days(7),
      default: '180',
      description: 'Days to store the provider calls of closed orders for staff. `0`: forever.',
    },
    historyDays: {
      variable: 'HISTORY_DAYS',
      rule: days(30),
      default: historyDays,
      defaultText: `\`${LONG_ENOUGH_DAYS}\``,
      description:
        'Days to store history: the states of a closed order; the stored response to an ' +
        '`Idempotency-Key`, after the rental ends (replays then show the proxies as they are); failed ' +
        'renewals, and disabled rules without renewals; unpaid deposits; the daily spending of limited ' +
        'tokens. `0`: forever.',
    },
    auditLogReadDays: {
      variable: 'AUDIT_LOG_READ_DAYS',
      rule: days(365),
      default: '0',
      description:
        "Days to store staff's reads and refusals in the audit log. `0`: forever. Changes are always " +
        'stored.',
    },
    eventDays: {
      variable: 'EVENT_DAYS',
      rule: days(7),
      default: '30',
      description: 'Days during which customers can read and replay an event. `0`: forever.',
    },
  },
  payments: {
    provider: {
      variable: 'PAYMENTS',
      rule: oneOf('off', 'yookassa', 'sandbox'),
      default: (given) => (isOnItsOwn(given) ? 'sandbox' : 'off'),
      defaultText: '`sandbox` without a database, provider key and shop, otherwise `off`',
      description:
        'Payment provider for deposits. With `off`, neither routes nor descriptions have deposits.',
    },
    shopId: {
      variable: 'YOOKASSA_SHOP_ID',
      rule: key,
      defaultText: 'none',
      description: 'Shop id at YooKassa.',
    },
    secretKey: {
      variable: 'YOOKASSA_SECRET_KEY',
      rule: key,
      isSecret: true,
      defaultText: 'none',
      description: 'Secret key of the shop. Keys of test shops begin with `test_`.',
    },
    baseUrl: {
      variable: 'YOOKASSA_BASE_URL',
      rule: paymentsUrl,
      default: 'https://api.yookassa.ru/v3',
      description: "Base URL of YooKassa's API. Plain HTTP is accepted on this machine only.",
    },
    receipt: {
      variable: 'YOOKASSA_RECEIPT',
      rule: receipt,
      defaultText: 'none (no receipt is requested)',
      description:
        'Requests a fiscal receipt (54-FZ) for each payment: the address that gets receipts, and the VAT ' +
        'code.',
    },
    min: {
      variable: 'DEPOSIT_MIN',
      rule: roubles,
      default: '100.00',
      description: 'Smallest deposit.',
    },
    max: {
      variable: 'DEPOSIT_MAX',
      rule: roubles,
      default: '100000.00',
      description: 'Largest deposit.',
    },
    returnUrl: {
      variable: 'DEPOSIT_RETURN_URL',
      rule: publicUrl,
      defaultText: '`PUBLIC_URL`',
      description: 'Where the payment page sends customers back.',
    },
    compareSeconds: {
      variable: 'PAYMENTS_COMPARE_SECONDS',
      rule: integer(1, 86_400),
      default: '3600',
      description: 'Seconds between comparisons with the payments and refunds at the provider.',
    },
    sourcesFile: {
      variable: 'PAYMENT_SOURCES_FILE',
      rule: text,
      defaultText: 'none (no other payments are accepted)',
      description:
        'JSON file of [other payment sources](payments.md#other-sources) with their secrets and limits.',
    },
  },
  local: {
    dataDir: {
      variable: 'DATA_DIR',
      rule: text,
      default: '.data',
      description: "Directory of the embedded database, the sandbox and the demo user's token.",
    },
  },
  metrics: {
    port: {
      variable: 'METRICS_PORT',
      rule: integer(0, 65_535),
      defaultText: 'none (nothing is measured)',
      description:
        'Port of `GET /metrics` for Prometheus. `0` picks a free one, which is logged. Each replica on a ' +
        'machine needs its own.',
    },
    host: {
      variable: 'METRICS_HOST',
      rule: text,
      default: '127.0.0.1',
      description: 'Address of `GET /metrics`, which needs no token: keep it inside your network.',
    },
  },
  traces: {
    url: {
      variable: 'TRACES_URL',
      rule: publicUrl,
      defaultText: 'none (no traces)',
      description:
        'OTLP over HTTP endpoint of an OpenTelemetry collector, e.g. `http://127.0.0.1:4318/v1/traces`.',
    },
    ratio: {
      variable: 'TRACES_RATIO',
      rule: ratio,
      default: '1',
      description: 'Share of requests to trace, 0 to 1. Clients cannot force tracing with their own headers.',
    },
  },
  log: {
    level: {
      variable: 'LOG_LEVEL',
      rule: oneOf('error', 'warn', 'info', 'debug'),
      default: 'info',
      description: 'Least severe level to log.',
    },
    format: {
      variable: 'LOG_FORMAT',
      rule: oneOf('pretty', 'json'),
      default: () => (process.stdout.isTTY ? 'pretty' : 'json'),
      defaultText: '`pretty` on a terminal, otherwise `json`',
      description: 'Format of log lines.',
    },
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Setting>>>>;

type ValueOf<S> = S extends { rule: z.ZodType<infer Value> }
  ? Value | (S extends { default: unknown } ? never : undefined)
  : never;

/** The values of all settings, in their groups. Names contain the units of times. */
export type Settings = {
  readonly [Group in keyof typeof SETTINGS]: {
    readonly [Name in keyof (typeof SETTINGS)[Group]]: ValueOf<(typeof SETTINGS)[Group][Name]>;
  };
};

/** All settings as entries: `[group, [name, setting][]][]`. */
export const settingGroups = (): [group: string, settings: [name: string, setting: Setting][]][] =>
  Object.entries(SETTINGS).map(([group, settings]) => [group, Object.entries<Setting>(settings)]);
