import { Client } from 'pg';
import { generateSecret } from '../../src/auth/token-text';
import { fetchAs } from '../support/api-client';
import { BUILD_TIMEOUT_MS, type BuiltService, eventually } from '../support/built-service';
import { forAllTests } from '../support/fixtures';
import { exchangeRaw, sendRaw } from '../support/raw-http';
import { type Customer, Replicas } from '../support/replicas';
import { createTestDatabase } from '../support/test-database';

jest.setTimeout(BUILD_TIMEOUT_MS);

/** A shorter part is of no use to anybody. */
const PART_LENGTH = 12;

describe('The secret of a link', () => {
  let service: BuiltService;
  const database = forAllTests(createTestDatabase);
  const owner = forAllTests(() => new Client({ connectionString: database.ownerUrl }));
  const replicas = forAllTests(() =>
    Replicas.open({
      database,
      environment: { LOG_LEVEL: 'debug', LOG_FORMAT: 'json', ADDRESS_FAILURES_PER_MINUTE: '200' },
      tuning: { linkRequestsPerMinute: 60 },
    }),
  );
  beforeAll(async () => {
    await owner.connect();
    service = await replicas.start({ throughRelay: true });
  });

  async function createLink(customer: Customer): Promise<string> {
    const response = await fetchAs(customer, 'POST', `${service.baseUrl}/links`, { format: 'txt' });
    expect(response.status).toBe(201);
    return ((await response.json()) as { url: string }).url.slice('/l/'.length);
  }

  const requests = (secret: string): { method?: string; path: string; token?: string }[] => {
    const escaped = Buffer.from(secret).toString('hex').replaceAll(/../g, '%$&');
    return [
      { path: `/l/${secret}` },
      { method: 'HEAD', path: `/l/${secret}` },
      { path: `/l/${secret}?x=${secret}` },
      { path: `/l/${escaped}` },
      { path: `/l/${secret}/` },
      { path: `/l/${secret}.txt` },
      { path: `/l/${secret.slice(0, -1)}` },
      { path: `/l/${secret.slice(0, 25)}` },
      { path: `/l/${secret}/${secret}` },
      { path: `/L/${secret}` },
      { path: `//l/${secret}` },
      { path: `/${secret}` },
      { path: `/proxies/${secret}/ping`, token: secret },
      { path: `/links/${secret}` },
      { path: `/api/l/${secret}` },
      { method: 'POST', path: `/l/${secret}` },
      { method: 'DELETE', path: `/l/${secret}` },
      { path: '/me', token: secret },
      { path: `/me?access_token=${secret}` },
    ];
  };

  async function requestAll(secret: string): Promise<Set<number>> {
    const statuses = new Set<number>();
    for (const request of requests(secret)) statuses.add((await sendRaw(service.baseUrl, request)).status);
    return statuses;
  }

  it('is in no line of the log, with any outcome of the requests that have it', async () => {
    const customer = await replicas.createCustomer();
    const [secret, other] = [await createLink(customer), await createLink(customer)];
    const unknown = generateSecret('link');
    const fetchLink = (text: string) => sendRaw(service.baseUrl, { path: `/l/${text}` });

    expect(await requestAll(secret)).toEqual(new Set([200, 401, 404, 405]));
    expect(await requestAll(unknown)).toEqual(new Set([401, 404, 405]));
    await exchangeRaw(service.baseUrl, `GET /l/${secret} HTTP/1.1\r\nHost: x\r\nBroken\r\n\r\n`);
    await exchangeRaw(service.baseUrl, `GET /l/${secret}\u0000 HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(async () => (await fetchLink(other)).status === 429);

    // An export that fails for an unexpected reason. None of this customer is cached.
    const stranger = await replicas.createCustomer();
    await owner.query('ALTER TABLE proxies RENAME COLUMN login TO renamed');
    const later = await createLink(stranger);
    expect((await fetchLink(later)).status).toBe(500);
    await owner.query('ALTER TABLE proxies RENAME COLUMN renamed TO login');
    expect((await fetchLink(later)).status).toBe(200);

    // A look-up whose database hangs, is lost in the middle, or is not there.
    const cut = replicas.relay.catchNext({ statement: 'FROM export_links', moment: 'before', action: 'cut' });
    expect((await fetchLink(later)).status).toBe(503);
    await cut.reached;
    await owner.query('BEGIN; LOCK TABLE export_links IN ACCESS EXCLUSIVE MODE');
    const waiting = fetchLink(later);
    replicas.relay.cutAll();
    await owner.query('ROLLBACK');
    expect([200, 503]).toContain((await waiting).status);

    await replicas.query('UPDATE api_tokens SET revoked_at = now() WHERE user_id = $1', [stranger.id]);
    expect((await fetchLink(later)).status).toBe(404);

    const { stdout, stderr } = await service.stop();
    const log = stdout + stderr;
    expect(log).toMatch(/"level":"debug"/);
    expect(log).toMatch(/"level":"error"/);
    expect(log).toContain('unforeseen error');
    expect(log).toMatch(/"path":"\/l\/…"/);
    expect(log).toMatch(/"linkId":\d+/);
    for (const text of [secret, other, later, unknown]) {
      for (let at = 'prl_'.length; at + PART_LENGTH <= text.length; at += 1) {
        const part = text.slice(at, at + PART_LENGTH);
        expect([at, log.includes(part)]).toEqual([at, false]);
        expect([at, log.includes(Buffer.from(part).toString('hex'))]).toEqual([at, false]);
      }
    }
  });
});
