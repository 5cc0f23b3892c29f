import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { DirectoryInUseError } from './directory-lock';
import { PaymentsSandbox } from './payments/payments-sandbox';
import { type CashRegisterKind, isCashRegisterKind } from './payments/receipts';
import { type RunningSandbox, startSandbox } from './sandbox';
import { writePrivateFile } from './system';

const DEFAULT_DIRECTORY = '.data/sandbox';
const DEFAULT_PORT = 3999;
const PORTS_TO_TRY = 50;
/** All other failures exit with 1. */
const EXIT_BAD_ARGUMENTS = 2;
const EXIT_ALREADY_RUNNING = 3;

const ADDRESS_FILE = 'address.json';

class UsageError extends Error {}

function readCommand() {
  const { values } = parseArguments();
  return {
    directory: values.directory ?? DEFAULT_DIRECTORY,
    port: values.port === undefined ? defaultPorts(values['except-port']) : readPort('--port', values.port),
    ...(values['api-key'] !== undefined && { apiKey: readApiKey(values['api-key']) }),
    ...(values['no-rate-limit'] && { rateLimitPerSecond: null }),
    cashRegister: readCashRegister(values['cash-register']),
    untilInputEnds: values['until-input-ends'] ?? false,
  };
}

function parseArguments() {
  try {
    return parseArgs({
      options: {
        directory: { type: 'string' },
        port: { type: 'string' },
        'except-port': { type: 'string', multiple: true },
        'api-key': { type: 'string' },
        'no-rate-limit': { type: 'boolean' },
        'cash-register': { type: 'string' },
        'until-input-ends': { type: 'boolean' },
      },
    });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : 'Bad arguments');
  }
}

function defaultPorts(except: readonly string[] = []): number[] {
  const ports = Array.from({ length: PORTS_TO_TRY }, (_, offset) => DEFAULT_PORT + offset);
  return ports.filter((port) => !except.includes(String(port)));
}

function readPort(name: string, text: string): number {
  const port = Number(text);
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new UsageError(`${name} must be a port number`);
  return port;
}

/** Restricts the characters, because the API key becomes part of a URL's path. */
function readApiKey(text: string): string {
  if (!/^[\w.~-]+$/.test(text)) {
    throw new UsageError('--api-key may contain only letters, digits and . _ ~ -');
  }
  return text;
}

function readCashRegister(kind: string | undefined): CashRegisterKind | null {
  if (kind !== undefined && !isCashRegisterKind(kind)) throw new UsageError('--cash-register is unknown');
  return kind ?? null;
}

async function run(): Promise<void> {
  const { untilInputEnds, cashRegister, ...options } = readCommand();
  const end = new AbortController();
  const ended = once(end.signal, 'abort');
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.once(signal, () => end.abort());
  const sandbox = await startSandbox(options);
  // Reuses the port of the last run, so that the URLs of payment pages stay valid after a restart.
  const ports = typeof options.port === 'object' ? options.port : [0];
  const payments = await PaymentsSandbox.start({ directory: options.directory, ports });
  payments.cashRegister = cashRegister;
  // The system closes stdin when the parent process is killed.
  if (untilInputEnds) process.stdin.once('close', () => end.abort()).resume();
  const addressFile = join(options.directory, ADDRESS_FILE);
  const { baseUrl, controlUrl, controlSecret, apiKey } = sandbox;
  const shop = { baseUrl: payments.baseUrl, shopId: payments.shopId, secretKey: payments.secretKey };
  const address = { pid: process.pid, baseUrl, controlUrl, controlSecret, apiKey, payments: shop };
  await writePrivateFile(addressFile, `${JSON.stringify(address)}\n`);
  announce(sandbox, options.directory, addressFile);
  await ended;
  // An open stdin would keep this process running.
  process.stdin.destroy();
  await rm(addressFile, { force: true });
  await payments.close();
  await sandbox.close();
}

/** Shows the key and the secret only on a terminal, because other outputs may be logs. */
function announce(sandbox: RunningSandbox, directory: string, addressFile: string): void {
  const { baseUrl, controlUrl, controlSecret, apiKey } = sandbox;
  const api = `${baseUrl}/api/${apiKey}`;
  const lines = process.stdout.isTTY
    ? [
        '',
        `  curl '${api}'`,
        `  curl '${api}/getcountry/?version=6'`,
        `  curl '${api}/buy/?count=1&period=7&country=nl&version=6&descr=hello'`,
        `  curl '${api}/getproxy/?descr=hello'`,
        `  curl -x http://USER:PASS@HOST:PORT '${api}'        with what getproxy listed`,
        `  curl -H 'Authorization: Bearer ${controlSecret}' '${controlUrl}/state'`,
        '',
        'Press Ctrl-C to stop it.',
      ]
    : [`Its key and the secret of its control interface are in ${addressFile}`];
  const place = `Sandbox provider at ${baseUrl}, control interface at ${controlUrl}, state in ${directory}`;
  process.stdout.write(`${[place, ...lines].join('\n')}\n`);
}

run().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  if (error instanceof UsageError) process.exitCode = EXIT_BAD_ARGUMENTS;
  else if (error instanceof DirectoryInUseError) process.exitCode = EXIT_ALREADY_RUNNING;
  else process.exitCode = 1;
});
