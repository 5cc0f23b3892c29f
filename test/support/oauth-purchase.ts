import { createHash, randomBytes } from 'node:crypto';

const REDIRECT = 'https://agent.example/callback';
export const CLIENT_METADATA = JSON.stringify({ client_name: 'Assistant', redirect_uris: [REDIRECT] });

interface Response {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly body: string;
}

type Send = (
  path: string,
  options?: { readonly body?: string; readonly headers?: Record<string, string> },
) => Promise<Response>;

const formOf = (fields: Record<string, string>) => ({
  body: new URLSearchParams(fields).toString(),
  headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
});

/** Goes from `/mcp` to the result of `place_order`. All named addresses must begin with the public URL. */
export async function placeOrderByOAuth(
  publicUrl: string,
  customerToken: string,
  send: Send,
): Promise<object> {
  const pathOf = (url: unknown): string => {
    expect(url).toEqual(expect.stringMatching(`^${publicUrl}/`));
    return String(url).slice(publicUrl.length);
  };
  const read = async (path: string, options?: Parameters<Send>[1]) =>
    JSON.parse((await send(path, options)).body) as Record<string, unknown>;

  const { headers } = await send('/mcp', { body: '{}' });
  const [, metadata] = /resource_metadata="([^"]+)"/.exec(String(headers['www-authenticate'])) ?? [];
  const { resource, authorization_servers } = await read(pathOf(metadata));
  expect([resource, authorization_servers]).toEqual([`${publicUrl}/mcp`, [publicUrl]]);
  const { registration_endpoint, authorization_endpoint, token_endpoint } = await read(
    '/.well-known/oauth-authorization-server',
  );
  const { client_id } = await read(pathOf(registration_endpoint), { body: CLIENT_METADATA });
  const client = { client_id: String(client_id), redirect_uri: REDIRECT };
  const verifier = randomBytes(32).toString('base64url');
  const request = {
    ...client,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    resource: String(resource),
  };
  const page = `${pathOf(authorization_endpoint)}?${formOf(request).body}`;
  expect((await send(page)).body).toContain('Connect “Assistant”');
  const choices = { token: customerToken, access: 'buy', daily_limit: '100', days: '1', decision: 'allow' };
  const response = new URL(String((await send(page, formOf(choices))).headers['location'])).searchParams;
  expect(response.get('iss')).toBe(publicUrl);

  const tokens = pathOf(token_endpoint);
  const code = { code: response.get('code') ?? '', code_verifier: verifier };
  const { refresh_token } = await read(
    tokens,
    formOf({ ...client, ...code, grant_type: 'authorization_code' }),
  );
  const refresh = { refresh_token: String(refresh_token), grant_type: 'refresh_token' };
  const { access_token } = await read(tokens, formOf({ ...client, ...refresh }));

  const callTool = async (name: string, given: object) => {
    const params = { name, arguments: given };
    const { result } = await read('/mcp', {
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
      headers: {
        Authorization: `Bearer ${String(access_token)}`,
        Accept: 'application/json, text/event-stream',
      },
    });
    return (result as { structuredContent: Record<string, unknown> }).structuredContent;
  };
  const { order_ref } = await callTool('prepare_purchase', { country: 'ru', period: 30 });
  return callTool('place_order', { order_ref });
}
