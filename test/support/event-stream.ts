import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { eventually } from './built-service';

export interface StreamMessage {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export interface EventStream {
  readonly status: number;
  readonly contentType: string | undefined;
  /** The last received id, even one without an event. */
  lastId(): string;
  messages(): readonly StreamMessage[];
  take(count: number): Promise<readonly StreamMessage[]>;
  hasEnded(): boolean;
  ended(): Promise<void>;
  close(): void;
}

export async function openEventStream(
  baseUrl: string,
  path: string,
  { token, lastEventId }: { readonly token: string; readonly lastEventId?: string },
): Promise<EventStream> {
  const call: ClientRequest = request(new URL(path, baseUrl), {
    agent: false,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'text/event-stream',
      ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
    },
  });
  call.end();
  const [response] = (await once(call, 'response')) as [IncomingMessage];
  const messages: StreamMessage[] = [];
  let lastId = '';
  let rest = '';
  let isOver = false;
  response.setEncoding('utf8');
  response.on('data', (text: string) => {
    const blocks = (rest + text).split('\n\n');
    rest = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = new Map(
        block
          .split('\n')
          .filter((line) => !line.startsWith(':'))
          .map((line) => {
            const at = line.indexOf(': ');
            return [line.slice(0, at), line.slice(at + 2)] as const;
          }),
      );
      lastId = fields.get('id') ?? lastId;
      const data = fields.get('data');
      if (data !== undefined) messages.push({ id: lastId, event: fields.get('event') ?? 'message', data });
    }
  });
  const over = (): void => void (isOver = true);
  for (const event of ['end', 'close', 'error']) response.on(event, over);
  call.on('error', over);
  return {
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'],
    lastId: () => lastId,
    messages: () => messages,
    take: async (count) => {
      await eventually(() => messages.length >= count);
      return messages.slice(0, count);
    },
    hasEnded: () => isOver,
    ended: async () => void (await eventually(() => isOver)),
    close: () => void call.destroy(),
  };
}
