import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from './built-service';
import { type Customer, type Replicas, send } from './replicas';
import type { SeededRandom } from './seeded-random';
import type { Responder, WebhookReceiver } from './webhook-receiver';

const WAIT_SECONDS = 2;
const PATIENCE_MS = 30_000;

type ReadEvent = readonly [id: string, text: string];

const toReadEvent = (event: { readonly id: string }): ReadEvent => [event.id, JSON.stringify(event)];
const positionOf = ([id]: ReadEvent): number => Number(id.replace('evt_', ''));

/** Reads a customer's events like a script: at any replica, from the last response's cursor. */
export class EventReader {
  readonly received: ReadEvent[] = [];
  readonly refusals: string[] = [];
  failures = 0;
  private cursor = '';

  constructor(
    readonly customer: Customer,
    private readonly chooseBaseUrl: () => string,
    private readonly own: SeededRandom,
  ) {}

  /** Reads through all faults until the signal, and sometimes hangs up. */
  async follow(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const hangUpMs = this.own.chance(0.1) ? this.own.integer(1, 100) : PATIENCE_MS;
      if ((await this.readPage(WAIT_SECONDS, hangUpMs)) === null) await pause(this.own.integer(20, 200));
    }
  }

  async readToEnd(): Promise<void> {
    await eventually(async () => (await this.readPage(0, PATIENCE_MS)) === 0);
  }

  /** @returns the number of events on the page; null without a response */
  private async readPage(waitSeconds: number, hangUpMs: number): Promise<number | null> {
    const query = new URLSearchParams({ wait: String(waitSeconds), limit: String(this.own.integer(1, 100)) });
    if (this.cursor !== '') query.set('after', this.cursor);
    try {
      const response = await fetch(`${this.chooseBaseUrl()}/events?${query.toString()}`, {
        headers: { Authorization: `Bearer ${this.customer.token}` },
        signal: AbortSignal.timeout(hangUpMs),
      });
      const text = await response.text();
      if (response.status >= 400 && response.status < 500) this.refusals.push(`${response.status}: ${text}`);
      if (response.status !== 200) throw new Error(text);
      const { items, next_cursor: next } = JSON.parse(text) as {
        items: readonly { id: string }[];
        next_cursor: string;
      };
      this.received.push(...items.map(toReadEvent));
      this.cursor = next;
      return items.length;
    } catch {
      this.failures += 1;
      return null;
    }
  }
}

export async function untilPublished(replicas: Replicas): Promise<void> {
  await eventually(
    async () => (await replicas.query('SELECT FROM events WHERE position IS NULL LIMIT 1')).length === 0,
  );
}

/** Each reader must have received its customer's events once, in order and unchanged. */
export async function compareReaders(replicas: Replicas, readers: readonly EventReader[]): Promise<string[]> {
  const differences: string[] = [];
  for (const reader of readers) {
    const whose = `the reader of user ${reader.customer.id}`;
    const stored = await storedEvents(replicas, `event.user_id = $1 AND type <> 'test'`, reader.customer.id);
    await reader.readToEnd();
    const last = stored.at(-1);
    const received = reader.received.filter((one) => last && positionOf(one) <= positionOf(last));
    const isSame =
      received.length === stored.length && received.every(([, text], at) => text === stored[at]?.[1]);
    if (!isSame) differences.push(differenceOf(whose, stored, received));
    differences.push(...reader.refusals.map((response) => `${whose} was refused: ${response}`));
  }
  return differences;
}

/** Some customers' webhooks. Their common endpoint sometimes fails. */
export class SoakWebhooks {
  private readonly made: { readonly id: number; readonly path: string }[] = [];

  private constructor(private readonly receiver: WebhookReceiver) {}

  static async open(
    baseUrl: string,
    receiver: WebhookReceiver,
    wanted: readonly (readonly [Customer, readonly string[] | null])[],
    own: SeededRandom,
  ): Promise<SoakWebhooks> {
    receiver.responder = failingAtFirst(own);
    const webhooks = new SoakWebhooks(receiver);
    for (const [customer, types] of wanted) {
      const path = `/${customer.id}`;
      const body = { url: receiver.url + path, ...(types && { types }) };
      const { status, body: made } = await send(baseUrl, { customer, path: '/webhooks', body });
      if (status !== 201) throw new Error(`no webhook was made: ${status}`);
      receiver.trust(path, String(made['secret']));
      webhooks.made.push({ id: Number(made['id']), path });
    }
    return webhooks;
  }

  get requests(): number {
    return this.receiver.received.length;
  }

  /** Each webhook must have received every event of its types, and nothing else, correctly signed. */
  async compare(replicas: Replicas): Promise<string[]> {
    // The lease of a killed replica must end first.
    const isOver = async () =>
      (await replicas.query(`SELECT FROM webhook_deliveries WHERE state = 'pending' LIMIT 1`)).length === 0;
    await eventually(isOver).catch(() => undefined);
    const differences = this.receiver.forged.map(({ path, id }) => `${id} at ${path} was signed wrongly`);
    for (const { id, path } of this.made) {
      const stored = await storedEvents(
        replicas,
        `EXISTS (SELECT FROM webhooks webhook
                  WHERE webhook.id = $1 AND webhook.user_id = event.user_id
                    AND event.position > webhook.since_position
                    AND (webhook.types IS NULL OR event.type = ANY (webhook.types)))`,
        id,
      );
      const received = this.receiver.of(path).map((webhook): ReadEvent => [webhook.id, webhook.body]);
      const texts = new Map(received);
      const isSame =
        texts.size === stored.length &&
        stored.every(([event, text]) => texts.get(event) === text) &&
        received.every(([event, text]) => texts.get(event) === text);
      if (!isSame) differences.push(differenceOf(`the webhook at ${path}`, stored, received));
    }
    return differences;
  }
}

function failingAtFirst(own: SeededRandom): Responder {
  const seen = new Set<string>();
  return (webhook, response) => {
    const isFirst = !seen.has(`${webhook.path} ${webhook.id}`);
    seen.add(`${webhook.path} ${webhook.id}`);
    if (!isFirst || own.chance(0.9)) return 204;
    const way = own.pick(['error', 'hang', 'cut', 'late'] as const);
    if (way === 'cut') response.socket?.destroy();
    if (way === 'late') setTimeout(() => response.writeHead(200).end('late'), 100);
    return way === 'error' ? 500 : way === 'hang' ? 'hang' : undefined;
  };
}

async function storedEvents(replicas: Replicas, condition: string, id: number): Promise<ReadEvent[]> {
  const events = await replicas.query<{ id: string; type: string; at: Date; data: object }>(
    `SELECT 'evt_' || event.position AS id, event.type, event.at, event.data
       FROM events event WHERE event.position IS NOT NULL AND ${condition} ORDER BY event.position`,
    [id],
  );
  return events.map(toReadEvent);
}

function differenceOf(whose: string, stored: readonly ReadEvent[], received: readonly ReadEvent[]): string {
  const [storedTexts, receivedIds] = [new Map(stored), new Set(received.map(([id]) => id))];
  const missing = stored.filter(([id]) => !receivedIds.has(id)).map(([id]) => id);
  const unknown = received.filter(([id]) => !storedTexts.has(id)).map(([id]) => id);
  const other = received.filter(([id, text]) => storedTexts.has(id) && storedTexts.get(id) !== text);
  return (
    `${whose} was not told what the log has: of ${stored.length}, ${missing.length} missing ` +
    `(${missing.slice(0, 5).join()}), ${unknown.length} unknown (${unknown.slice(0, 5).join()}), ` +
    `${received.length - receivedIds.size} more than once, ${other.length} with another text ` +
    `(${other[0]?.[1] ?? ''})`
  );
}
