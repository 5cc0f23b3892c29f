import { insertProxies } from '../support/proxy-rows';
import { openSilentPort } from '../support/silent-port';
import { startTestService } from '../support/test-service';

it('POST /proxies/ping answers within 10 s when no proxy does, and says which were not tried', async () => {
  const service = await startTestService({ environment: { PING_TIMEOUT_MS: '60000' } });
  const silent = await openSilentPort();
  try {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 1000, { port: String(silent.port) });
    const startedAt = performance.now();
    const { data } = await user.api.POST('/proxies/ping', { body: { filter: {} } });
    expect(performance.now() - startedAt).toBeLessThan(10_000);
    const told = (data?.proxies ?? []).map(({ latency_ms: latency, detail }) => `${latency} ${detail}`);
    expect(told.filter((text) => text === 'null null')).toHaveLength(400);
    expect(told.filter((text) => text === 'null Not tried in time')).toHaveLength(600);
  } finally {
    await service.close();
    await silent.close();
  }
}, 60_000);
