import { request } from 'node:http';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';

export type Revision = 'legacy' | 'modern';

interface Called {
  readonly result: Record<string, unknown> | null;
  readonly error: { code: string; detail: string; next: string; retry_after_seconds?: number } | null;
}

export interface Agent {
  readonly client: Client;
  call(name: string, given?: Record<string, unknown>): Promise<Called>;
  close(): Promise<void>;
}

/** The SDK's client, which checks results against the tools' schemas. */
export async function connectAgent(
  baseUrl: string,
  token: string,
  revision: Revision = 'modern',
): Promise<Agent> {
  const mode = revision === 'legacy' ? 'legacy' : { pin: '2026-07-28' };
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } });
  await client.connect(
    new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), {
      requestInit: { headers: { Authorization: `Bearer ${token}` } },
    }),
  );
  return {
    client,
    async call(name, given = {}) {
      const { isError, content, structuredContent } = await client.callTool({ name, arguments: given });
      const [first] = content;
      if (first?.type !== 'text') throw new Error('the result has no text');
      const text = JSON.parse(first.text) as never;
      if (!isError) expect(structuredContent).toEqual(text);
      return isError ? { result: null, error: text } : { result: text, error: null };
    },
    close: () => client.close(),
  };
}

/** Calls a tool and breaks the connection once the call was sent, or when its response begins. */
export function cutCall(
  baseUrl: string,
  token: string,
  cut: 'sent' | 'responding',
  params: { name: string; arguments: object },
): Promise<void> {
  return new Promise((resolve, reject) => {
    const sent = request(`${baseUrl}/mcp`, {
      method: 'POST',
      headers: {
        Authorization: `Bearer ${token}`,
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
    });
    sent.once('error', cut === 'sent' ? () => resolve() : reject).once('close', () => resolve());
    sent.once('response', (response) => response.destroy());
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }), () => {
      if (cut === 'sent') sent.destroy();
    });
  });
}
