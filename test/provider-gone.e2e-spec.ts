import { forAllTests } from './support/fixtures';
import { startTestService } from './support/test-service';

describe('a provider that refuses connections', () => {
  // The sandbox is closed.
  const service = forAllTests(startTestService);

  it('does not change the balance, as certainly nothing was bought, nor the health', async () => {
    const user = await service.createUser({ balance: '500.00' });
    expect((await user.buy()).response.status).toBe(200);
    const before = await service.balanceOf(user);

    await service.sandbox.close();
    const { error, response } = await user.buy();

    expect([response.status, error]).toEqual([503, { detail: 'Service temporarily unavailable' }]);
    expect(await service.balanceOf(user)).toEqual(before);
    await service.audit();
    const health = await fetch(`${service.baseUrl}/health`);
    expect([health.status, await health.json()]).toEqual([200, { status: 'ok' }]);
  });
});
