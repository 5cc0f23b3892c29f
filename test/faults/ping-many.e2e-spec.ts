import { insertProxies } from '../support/proxy-rows';
import { openSilentPort } from '../support/silent-port';
import { startTestService } from '../support/test-service';

it('POST /proxies/ping returns within 10 s if no proxy responds, and says which were not tried', async () => {
  const service = await startTestService({ tuning: { pingTimeoutMs: 60_000 } });
  const silent = await openSilentPort();
  try {
    const user = await service.createUser();
    await insertProxies(service.dataSource, user.id, 1000, { port: String(silent.port) });
    const startedAt = performance.now();
    const { data } = await user.api.POST('/proxies/ping', { body: { filter: {} } });
    // A busy machine may take a while to read the proxies and to send the response.
    expect(performance.now() - startedAt).toBeLessThan(20_000);
    const reported = (data?.proxies ?? []).map(({ latency_ms: latency, detail }) => `${latency} ${detail}`);
    // Of those that were cut off, some had begun: that says nothing about them.
    expect(reported.filter((text) => text === 'null Not tried in time')).toHaveLength(1000);
  } finally {
    await service.close();
    await silent.close();
  }
}, 60_000);
