import { readFile } from 'node:fs/promises';
import { get, type IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { z } from 'zod';
import { isAlive } from './system';

const LEASE_TIMEOUT_MS = 5000;
const PROBE_TIMEOUT_MS = 4000;

/** What a running sandbox writes into its directory. */
const addressSchema = z.object({
  pid: z.number(),
  baseUrl: z.string(),
  controlUrl: z.string(),
  /** One of an earlier release has none. */
  controlSecret: z.string().default(''),
  apiKey: z.string(),
});
export type SandboxAddress = z.infer<typeof addressSchema>;

const authorization = ({ controlSecret }: SandboxAddress) => ({ authorization: `Bearer ${controlSecret}` });

/** Null when no sandbox runs. One that was killed leaves its address behind. */
export async function findAddress(directory: string): Promise<SandboxAddress | null> {
  try {
    const address = addressSchema.parse(JSON.parse(await readFile(join(directory, 'address.json'), 'utf8')));
    return isAlive(address.pid) ? address : null;
  } catch {
    return null;
  }
}

/** Null when the sandbox does not answer. It runs for as long as the answer stays open. */
export async function requestLease(address: SandboxAddress): Promise<IncomingMessage | null> {
  return new Promise((resolve) => {
    const options = { agent: false, headers: authorization(address) };
    const request = get(`${address.controlUrl}/lease`, options, (answer) => {
      request.setTimeout(0);
      // The 'close' event tells of a broken connection.
      answer.on('error', () => undefined).resume();
      if (answer.statusCode === 200) {
        resolve(answer);
      } else {
        answer.destroy();
        resolve(null);
      }
    });
    request.setTimeout(LEASE_TIMEOUT_MS, () => request.destroy());
    request.once('error', () => resolve(null));
  });
}

/** Resolves with the HTTP status, or null when the sandbox no longer answers. */
export async function setProfile(address: SandboxAddress, name: string): Promise<number | null> {
  return fetch(`${address.controlUrl}/profile`, {
    method: 'POST',
    headers: authorization(address),
    body: JSON.stringify({ name }),
    signal: AbortSignal.timeout(PROBE_TIMEOUT_MS),
  }).then(
    ({ status }) => status,
    () => null,
  );
}

/** Whether the sandbox answers within 4 s. */
export async function isAnswering({ controlUrl }: SandboxAddress): Promise<boolean> {
  return fetch(controlUrl, { signal: AbortSignal.timeout(PROBE_TIMEOUT_MS) }).then(
    async (answer) => {
      await answer.body?.cancel();
      return answer.ok;
    },
    () => false,
  );
}
