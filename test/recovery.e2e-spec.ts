import type { RecoveryOut } from '../src/orders';
import { type ApiClient, createApiClient } from './support/api-client';
import { eventually } from './support/built-service';
import { type Restored, restorePoint } from './support/restored';
import { startTestService, type TestService } from './support/test-service';

/** The test alone sweeps. */
const QUIET = { SWEEP_INTERVAL_SECONDS: '86400' };
const REASON = ['--reason', 'restored'];

describe('After the database was restored to an earlier moment', () => {
  let service: TestService;
  let restored: Restored;

  beforeEach(async () => {
    service = await startTestService({ environment: QUIET });
  });
  afterEach(async () => {
    await restored.close();
    await service.close();
  });

  const show = () => restored.command<RecoveryOut>(['recovery', 'show']);
  const begin = () => restored.command<RecoveryOut>(['recovery', 'begin', ...REASON]);
  const end = () => restored.command<RecoveryOut>(['recovery', 'end', ...REASON]);

  async function buy(api: ApiClient, key?: string) {
    return api.POST('/proxies/buy', {
      ...(key && { params: { header: { 'Idempotency-Key': key } } }),
      body: { country: 'ru', period: 30 },
    });
  }

  const untilNothingIsLeft = () => eventually(async () => (await show()).to_be_done.length === 0);

  it('shuts orders until sweeps have told everything, and opens them then', async () => {
    const user = await service.createUser();
    const { data: bought } = await buy(user.api, 'before');
    restored = await restorePoint(service);
    expect(await show()).toMatchObject({ recovering: false, to_be_done: [] });
    expect(await restored.refused(['recovery', 'end', ...REASON])).toBe('There is no recovery');

    expect(await begin()).toMatchObject({
      recovering: true,
      swept_at: null,
      to_be_done: ['no sweep has told everything yet'],
    });
    expect(await restored.refused(['recovery', 'end', ...REASON])).toBe(
      'Orders stay shut: no sweep has told everything yet',
    );
    const { baseUrl } = await restored.start();
    const api = createApiClient(baseUrl, user.token);
    const proxyId = bought?.proxies[0]?.id ?? '';
    const shut = [
      await buy(api),
      await api.POST('/proxies/{proxy_id}/prolong', {
        params: { path: { proxy_id: proxyId } },
        body: { period: 30 },
      }),
      await api.POST('/proxies/prolong', {
        params: { header: { 'Idempotency-Key': 'bulk' } },
        body: { proxy_ids: [proxyId], period: 30 },
      }),
      await api.PUT('/proxies/{proxy_id}/type', {
        params: { path: { proxy_id: proxyId } },
        body: { proxy_type: 'socks' },
      }),
    ];
    for (const { response, error } of shut) {
      expect(error).toEqual({ detail: 'Service temporarily unavailable' });
      expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '60']);
    }
    expect((await buy(api, 'before')).data).toEqual(bought);
    expect((await api.GET('/proxies')).data).toEqual(bought?.proxies);

    await untilNothingIsLeft();
    expect(await end()).toMatchObject({ recovering: false, to_be_done: [] });
    expect((await buy(api)).response.status).toBe(200);
  });
});
