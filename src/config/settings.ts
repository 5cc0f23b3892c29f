import { z } from 'zod';
import { LOOPBACK_HOSTS, readEmail } from '../common';

export type Lookup = (variable: string) => string | undefined;

interface Setting {
  readonly variable: string;
  /** The schema's description completes the sentence "must be …". */
  readonly rule: z.ZodType<unknown, string>;
  /** Default as written in the environment. Without a default, the setting may be `undefined`. */
  readonly default?: string | ((given: Lookup) => string);
  /** Shown in the documentation if the default is absent or computed. */
  readonly defaultText?: string;
  readonly description: string;
  /** A secret may also be in the file that `fileVariable` names. */
  readonly isSecret?: true;
}

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
  .describe('a time of day in UTC, e.g. 03:00, or `off`');

const MOST_DAYS = 36_500;

/** A number of days; 0 keeps rows forever. */
const days = (least: number) =>
  z
    .string()
    .regex(/^\d{1,5}$/)
    .transform(Number)
    .refine((count) => count === 0 || (count >= least && count <= MOST_DAYS))
    .describe(`0, or a whole number from ${least} to ${MOST_DAYS}`);

/** Whether no external database, provider or shop is configured, so that everything runs on this machine. */
export const isOnItsOwn = (given: Lookup): boolean =>
  ['DATABASE_URL', 'PX6_API_KEY', 'YOOKASSA_BASE_URL', 'YOOKASSA_SHOP_ID', 'YOOKASSA_SECRET_KEY'].every(
    (variable) => given(variable) === undefined,
  );

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

// A network that contains all addresses would let any client forge X-Forwarded-For.
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
  .describe('customer scopes, e.g. profile:read,proxies:read');

const networks = z
  .string()
  .transform((list) => (list === '' ? [] : list.split(',').map((item) => item.trim())))
  .pipe(z.array(network))
  .describe('addresses and networks in CIDR notation, e.g. 10.0.0.0/8,::1');

const HOST_AND_SOCKET = 'must name a host; for a socket, use localhost/database?host=/its/directory';
const DATABASE_URL_MISTAKES: readonly (readonly [mistake: RegExp, message: string])[] = [
  [/#/, 'must write # as %23, for example in the password'],
  [/%(?![\da-f]{2})/i, 'must write % as %25, for example in the password'],
  [
    /^[^/]*\/\/([^/?]*@)?[^/?@]*,[^/?@]*([/?]|$)/,
    'must name a single host, such as a proxy in front of several',
  ],
  [/^[^/]*\/\/[^/?]*@([/?]|$)/, HOST_AND_SOCKET],
  [/^[^/]*\/\/\/(?!.*[?&]host=)/, HOST_AND_SOCKET],
];

const databaseUrl = z
  .string()
  .superRefine((url, context) => {
    const [, message] = DATABASE_URL_MISTAKES.find(([mistake]) => mistake.test(url)) ?? [];
    if (/^postgres(ql)?:/.test(url) && message !== undefined) context.addIssue({ code: 'custom', message });
  })
  .pipe(z.url({ protocol: /^postgres(ql)?$/, normalize: true }))
  .describe('a URL that begins with postgres:// or postgresql://');

/** Returns whether secrets may be sent to a URL. */
export const isEncryptedOrLocal = (href: string): boolean =>
  href.startsWith('https:') || LOOPBACK_HOSTS.has(new URL(href).hostname);

const providerUrl = z
  .url({ protocol: /^https?$/, normalize: true, abort: true })
  .refine(isEncryptedOrLocal, {
    error: 'must use https unless it is on this machine, because the path contains the key',
  })
  .transform((href) => href.replace(/\/+$/, ''))
  .describe('an HTTP(S) URL');

const proxyUrl = z
  .url({ protocol: /^https?$/, normalize: true })
  .refine((href) => new URL(href).pathname === '/' && !/[?#]/.test(href))
  .describe('the URL of an HTTP proxy, e.g. http://proxy.example:3128');

const echoUrl = z
  .url({ protocol: /^https?$/, normalize: true })
  .refine((href) => new URL(href).pathname.endsWith('/echo') && new URL(href).search === '')
  .describe('an HTTP(S) URL that ends with /echo');

const publicUrl = z
  .url({ protocol: /^https?$/, normalize: true, abort: true })
  .refine((href) => !/[?#]/.test(href) && new URL(href).username === '' && new URL(href).password === '')
  .transform((href) => href.replace(/\/+$/, ''))
  .describe('an HTTP(S) URL without login, query or fragment');

const paymentsUrl = publicUrl
  .refine(isEncryptedOrLocal, {
    error: 'must use https unless it is on this machine, because a header contains the secret',
  })
  .describe('an HTTP(S) URL without login, query or fragment');

const receipt = z
  .string()
  .regex(/^[^:]+:([1-9]|1[0-2])$/)
  .transform((both, { issues }) => {
    const [address = '', vatCode] = both.split(':');
    const read = readEmail(address);
    if ('email' in read) return { email: read.email, vatCode: Number(vatCode) };
    issues.push({ code: 'custom', input: both });
    return z.NEVER;
  })
  .describe(
    'an e-mail address with a Latin name, a colon and a VAT code from 1 to 12, e.g. receipts@example.com:1',
  );

/** How a shop's cash register describes a payment on receipts. */
export interface CashRegister {
  readonly mode: string;
  readonly subject: string;
  readonly taxSystem?: number;
}

const PAYMENT_MODES = 'full_prepayment|partial_prepayment|advance|full_payment';
const PAYMENT_SUBJECTS =
  'commodity|job|service|intellectual_activity|payment|agent_commission|property_right|composite|another';

const cashRegister = z
  .string()
  .regex(new RegExp(`^(${PAYMENT_MODES}):(${PAYMENT_SUBJECTS})(:[1-6])?$`))
  .transform((words): CashRegister => {
    const [mode = '', subject = '', taxSystem] = words.split(':');
    return { mode, subject, ...(taxSystem !== undefined && { taxSystem: Number(taxSystem) }) };
  })
  .describe(
    'a payment mode, a colon and a payment subject, optionally followed by a colon and a tax system ' +
      'code from 1 to 6, e.g. full_prepayment:service',
  );

const receiptItem = z
  .string()
  .regex(/^[^\p{C}]{1,128}$/u)
  .describe('text of at most 128 characters');

const ratio = z
  .string()
  .regex(/^(0(\.\d{1,6})?|1(\.0{1,6})?)$/)
  .transform(Number)
  .describe('a decimal number from 0 to 1, e.g. 0.05');

const setting = <Rule extends Setting['rule'], const Rest extends Omit<Setting, 'variable' | 'rule'>>(
  variable: string,
  rule: Rule,
  rest: Rest,
) => ({ variable, rule, ...rest });

/** Code reads a setting as `config.<group>.<name>`; operators set its variable. */
export const SETTINGS = {
  server: {
    host: setting('HOST', text, { default: '127.0.0.1', description: 'Address to listen on.' }),
    port: setting('PORT', integer(0, 65_535), {
      default: '3000',
      description: 'Port to listen on; `0` picks a free one.',
    }),
    // The public URL is never taken from a request: the client chooses `Host`.
    publicUrl: setting('PUBLIC_URL', publicUrl, {
      defaultText: 'none: secret links begin with `/l/`',
      description: 'Base URL of the service for customers, e.g. `https://proxies.example.com`.',
    }),
    trustedProxies: setting('TRUSTED_PROXIES', networks, {
      default: '',
      defaultText: 'none',
      description: 'Load balancers whose `X-Forwarded-For` is trusted.',
    }),
    maxConnections: setting('MAX_CONNECTIONS', integer(1, 1_000_000), {
      default: '2000',
      description:
        'Maximum number of client connections per replica. A single address may use up to half of them, ' +
        'and the `TRUSTED_PROXIES` together all but 2 %.',
    }),
    keepAliveSeconds: setting('KEEP_ALIVE_SECONDS', integer(15, 3600), {
      default: '65',
      description:
        'How long idle client connections are kept open, in seconds. Load balancers must close them ' +
        'earlier.',
    }),
    drainSeconds: setting('DRAIN_SECONDS', integer(0, 3600), {
      default: '0',
      description:
        'How long a stopping replica keeps serving requests, in seconds, while `GET /health/ready` ' +
        'returns 503.',
    }),
  },
  database: {
    url: setting('DATABASE_URL', databaseUrl, {
      isSecret: true,
      defaultText: 'the embedded PostgreSQL, with a demo user',
      description:
        'URL of the database (PostgreSQL 15 or later), without a transaction-mode pooler in between.',
    }),
    ownerUrl: setting('DATABASE_OWNER_URL', databaseUrl, {
      isSecret: true,
      defaultText: 'none: the role of `DATABASE_URL` owns the tables',
      description:
        'URL of the same database for the role that owns the tables, runs migrations and creates the role ' +
        'of `DATABASE_URL`.',
    }),
    migrateOnStart: setting('MIGRATE_ON_START', flag, {
      default: 'true',
      description: 'Whether the service applies pending migrations on startup.',
    }),
    poolSize: setting('DB_POOL_SIZE', integer(2, 1000), {
      default: '16',
      description: 'Maximum number of database connections per replica.',
    }),
  },
  limits: {
    tokenRequestsPerMinute: setting('TOKEN_REQUESTS_PER_MINUTE', integer(0, 1_000_000_000), {
      default: '120000',
      description:
        'Maximum number of requests per minute for each token, across all replicas; `0` means no limit.',
    }),
    userRequestsPerMinute: setting('USER_REQUESTS_PER_MINUTE', integer(0, 1_000_000_000), {
      default: '240000',
      description:
        "Maximum number of requests per minute for each user, across all of the user's tokens; `0` " +
        'means no limit.',
    }),
    addressFailuresPerMinute: setting('ADDRESS_FAILURES_PER_MINUTE', integer(0, 1_000_000_000), {
      default: '600',
      description:
        'Maximum number of requests without a valid token or secret link, failed sign-ins, and fetches ' +
        'of the API description per minute for each address; `0` means no limit.',
    }),
  },
  provider: {
    kind: setting('PROVIDER', oneOf('px6', 'sandbox'), {
      default: (given: Lookup) => (given('PX6_API_KEY') === undefined ? 'sandbox' : 'px6'),
      defaultText: '`px6` with a key, otherwise `sandbox`',
      description: 'The provider of the proxies.',
    }),
    apiKey: setting('PX6_API_KEY', key, {
      isSecret: true,
      defaultText: 'none: the sandbox is used',
      description:
        'API key for our account with the provider. Every request URL contains the key, so do not log ' +
        'these URLs.',
    }),
    apiKeyFile: setting(fileVariable('PX6_API_KEY'), text, {
      defaultText: 'none',
      description: 'File that contains the key. A new key takes effect within seconds, without a restart.',
    }),
    baseUrl: setting('PX6_BASE_URL', providerUrl, {
      default: 'https://px6.link',
      description: 'Base URL of the provider. Plain HTTP is accepted only for this machine.',
    }),
    timeoutMs: setting('PROVIDER_TIMEOUT_MS', integer(100, 600_000), {
      default: '30000',
      description: 'Total timeout for a provider call, in milliseconds.',
    }),
    ratePerSecond: setting('PROVIDER_RATE_PER_SECOND', integer(0, 100), {
      default: '3',
      description:
        'Calls per second that the provider allows for the key, across all replicas; `0` means no limit.',
    }),
    lowBalance: setting('PROVIDER_LOW_BALANCE', roubles, {
      default: '1000.00',
      description: 'Staff are warned when the balance at the provider falls below this amount.',
    }),
  },
  purchases: {
    waitMs: setting('PURCHASE_WAIT_MS', integer(0, 600_000), {
      default: '20000',
      description: 'How long an order waits for a rate permit before it is canceled, in milliseconds.',
    }),
    replayDays: setting('REPLAY_DAYS', integer(0, 3650), {
      default: '30',
      description:
        'How long after the end of a rental a retry of its order still returns logins and passwords, in ' +
        'days.',
    }),
  },
  reconciliation: {
    settlementDelaySeconds: setting('SETTLEMENT_DELAY_SECONDS', integer(1, 86_400), {
      default: '600',
      description:
        "Minimum time, in seconds, to wait after an order's provider call before canceling the order if " +
        'the provider shows no trace of it.',
    }),
  },
  sweep: {
    intervalSeconds: setting('SWEEP_INTERVAL_SECONDS', integer(1, 86_400), {
      default: '900',
      description: "Seconds between full comparisons with the provider's listing.",
    }),
  },
  pricing: {
    markupPercent: setting('MARKUP_PERCENT', percent, {
      default: '20',
      description: "Markup on the provider's price, in percent, if no price rule applies.",
    }),
  },
  proxies: {
    expiringHours: setting('EXPIRING_HOURS', stages, {
      default: '72,24,1',
      description:
        'When to send `proxy.expiring`, in hours before the end of the rental; if empty, it is never sent.',
    }),
  },
  proxyChecks: {
    echoUrl: setting('ECHO_URL', echoUrl, {
      defaultText: 'this process when the sandbox runs, otherwise none',
      description: "Public URL of this service's `GET /echo`; proxy checks send their requests to it.",
    }),
  },
  links: {
    maxPerUser: setting('MAX_LINKS_PER_USER', integer(0, 10_000), {
      default: '100',
      description: 'Maximum number of secret links per user; `0` also disables existing links.',
    }),
  },
  webhooks: {
    maxPerUser: setting('MAX_WEBHOOKS_PER_USER', integer(0, 1000), {
      default: '10',
      description: 'Maximum number of webhooks per user; `0` prevents new ones.',
    }),
    allowHttp: setting('WEBHOOK_ALLOW_HTTP', flag, {
      default: 'false',
      description:
        'Whether webhook URLs may begin with `http://`. Over plain HTTP, others can read and change ' +
        'deliveries.',
    }),
    allowedNetworks: setting('WEBHOOK_ALLOWED_NETWORKS', networks, {
      default: '',
      defaultText: 'none: public addresses only',
      description: 'Non-public addresses and networks to which webhooks may be sent.',
    }),
  },
  telegram: {
    botToken: setting('TELEGRAM_BOT_TOKEN', botToken, {
      isSecret: true,
      defaultText: 'none: sign-in with Telegram is disabled',
      description: 'Token of the Telegram bot whose Mini App customers open.',
    }),
    scopes: setting('TELEGRAM_SCOPES', scopes, {
      default: 'profile:read,countries:read,price:read,proxies:read',
      description: 'Customer scopes granted to sign-in tokens, comma-separated.',
    }),
  },
  audit: {
    /** Minutes after midnight (UTC); null if off. */
    time: setting('AUDIT_TIME', time, {
      default: '03:00',
      description: 'Time of the daily audit.',
    }),
  },
  retention: {
    providerCallDays: setting('PROVIDER_CALL_DAYS', days(7), {
      default: '180',
      description:
        'How long the provider calls of closed orders are stored for staff, in days; `0` means forever.',
    }),
    historyDays: setting('HISTORY_DAYS', days(30), {
      default: '365',
      description:
        'How long [history](operations.md#growth), such as responses that can be replayed, is stored, in ' +
        'days; `0` means forever.',
    }),
    auditLogReadDays: setting('AUDIT_LOG_READ_DAYS', days(365), {
      default: '0',
      description:
        'How long records of reads and refused requests stay in the audit log, in days; `0` means ' +
        'forever. Changes are never removed.',
    }),
    eventDays: setting('EVENT_DAYS', days(7), {
      default: '30',
      description: 'How long customers can read and replay an event, in days; `0` means forever.',
    }),
  },
  payments: {
    provider: setting('PAYMENTS', oneOf('off', 'yookassa', 'sandbox'), {
      default: (given: Lookup) => (isOnItsOwn(given) ? 'sandbox' : 'off'),
      defaultText: '`sandbox` if no database, provider key or shop is set, otherwise `off`',
      description:
        'Payment provider. If `off`, the deposit routes do not exist and the deposit scopes cannot be ' +
        'granted.',
    }),
    shopId: setting('YOOKASSA_SHOP_ID', key, { defaultText: 'none', description: 'Shop id at YooKassa.' }),
    secretKey: setting('YOOKASSA_SECRET_KEY', key, {
      isSecret: true,
      defaultText: 'none',
      description: 'Secret key of the shop. Keys of test shops begin with `test_`.',
    }),
    baseUrl: setting('YOOKASSA_BASE_URL', paymentsUrl, {
      default: 'https://api.yookassa.ru/v3',
      description: "Base URL of YooKassa's API. Plain HTTP is accepted only for this machine.",
    }),
    receipt: setting('YOOKASSA_RECEIPT', receipt, {
      defaultText: 'none: no receipt is requested',
      description:
        'If set, a fiscal receipt (54-FZ) is requested for each payment. The value is the e-mail ' +
        'address used for customers without one, and the VAT code ([example](payments.md#receipts)).',
    }),
    register: setting('YOOKASSA_REGISTER', cashRegister, {
      defaultText: '`advance:payment`',
      description:
        'How receipts describe a deposit. The right value depends on [the cash ' +
        'register](payments.md#cash-registers).',
    }),
    receiptItem: setting('YOOKASSA_RECEIPT_ITEM', receiptItem, {
      default: 'Пополнение баланса',
      description: 'Name of a deposit on its receipt.',
    }),
    min: setting('DEPOSIT_MIN', roubles, { default: '100.00', description: 'Smallest deposit.' }),
    max: setting('DEPOSIT_MAX', roubles, { default: '100000.00', description: 'Largest deposit.' }),
    returnUrl: setting('DEPOSIT_RETURN_URL', publicUrl, {
      defaultText: '`PUBLIC_URL`',
      description: 'URL to which customers return from the payment page.',
    }),
    compareSeconds: setting('PAYMENTS_COMPARE_SECONDS', integer(1, 86_400), {
      default: '3600',
      description: "Seconds between comparisons with the payment provider's payments and refunds.",
    }),
    sourcesFile: setting('PAYMENT_SOURCES_FILE', text, {
      defaultText: 'none: no other payments are accepted',
      description:
        'JSON file that lists [other payment sources](payments.md#other-sources) with their secrets ' +
        'and limits.',
    }),
  },
  agents: {
    oauth: setting('MCP_OAUTH', oneOf('off', 'on'), {
      default: 'off',
      description:
        'Whether agents that cannot send a header can [connect by OAuth](agents.md#connect-by-oauth). ' +
        'Requires a `PUBLIC_URL` with https and no path.',
    }),
  },
  compatible: {
    px6: setting('PX6_COMPATIBLE', oneOf('off', 'on'), {
      default: 'off',
      description: "Whether `/api/{token}/{method}` offers customers an API like [PROXY6's](px6.md).",
    }),
  },
  local: {
    dataDir: setting('DATA_DIR', text, {
      default: '.data',
      description: "Directory of the embedded database, the sandbox and the demo user's token.",
    }),
  },
  outgoing: {
    httpsProxy: setting('HTTPS_PROXY', proxyUrl, {
      isSecret: true,
      defaultText: 'none: direct connections',
      description:
        'HTTP proxy (`CONNECT`) for HTTPS calls to the provider, the payment provider and the trace ' +
        'collector. Webhooks and proxy checks always connect directly.',
    }),
    noProxy: setting('NO_PROXY', text, {
      default: '',
      defaultText: 'none',
      description:
        'Targets that are called directly despite `HTTPS_PROXY`, comma-separated: domains (including ' +
        'subdomains), addresses, or networks in CIDR notation, each with an optional port; `*` for all ' +
        'targets.',
    }),
  },
  metrics: {
    port: setting('METRICS_PORT', integer(0, 65_535), {
      defaultText: 'none: no metrics',
      description: 'Port that serves `GET /metrics` to Prometheus; `0` picks a free one, which is logged.',
    }),
    host: setting('METRICS_HOST', text, {
      default: '127.0.0.1',
      description:
        'Address to listen on for `GET /metrics`. This route needs no token, so keep the address private.',
    }),
  },
  traces: {
    url: setting('TRACES_URL', publicUrl, {
      defaultText: 'none: no traces',
      description: 'URL of an OpenTelemetry collector (OTLP/HTTP), e.g. `http://127.0.0.1:4318/v1/traces`.',
    }),
    ratio: setting('TRACES_RATIO', ratio, {
      default: '1',
      description: 'Fraction of requests to trace.',
    }),
  },
  log: {
    level: setting('LOG_LEVEL', oneOf('error', 'warn', 'info', 'debug'), {
      default: 'info',
      description: 'Least severe level to log.',
    }),
    format: setting('LOG_FORMAT', oneOf('pretty', 'json'), {
      default: () => (process.stdout.isTTY ? 'pretty' : 'json'),
      defaultText: '`pretty` on a terminal, otherwise `json`',
      description: 'Format of log lines.',
    }),
  },
} as const satisfies Readonly<Record<string, Readonly<Record<string, Setting>>>>;

type ValueOf<S> = S extends { rule: z.ZodType<infer Value> }
  ? Value | (S extends { default: unknown } ? never : undefined)
  : never;

/** Names of durations include the unit. */
export type Settings = {
  readonly [Group in keyof typeof SETTINGS]: {
    readonly [Name in keyof (typeof SETTINGS)[Group]]: ValueOf<(typeof SETTINGS)[Group][Name]>;
  };
};

export const settingGroups = (): [group: string, settings: [name: string, setting: Setting][]][] =>
  Object.entries(SETTINGS).map(([group, settings]) => [group, Object.entries<Setting>(settings)]);
