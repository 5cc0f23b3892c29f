import { AppConfig } from '../src/config';
import { startDatabaseRelay } from './support/database-relay';
import { forAllTests } from './support/fixtures';
import { startReplica } from './support/replica';
import { createStaff } from './support/staff';
import { sharedTestService } from './support/test-service';

describe('When the database goes away at COMMIT', () => {
  const service = forAllTests(sharedTestService);
  const relay = forAllTests(() => startDatabaseRelay(service.app.get(AppConfig).database.url));

  it('the response is 503, and a retry with the key is executed once', async () => {
    const replica = await startReplica(service, { database: { url: relay.url } });
    try {
      const clerk = await createStaff(service);
      const customer = await service.createUser({ balance: '0.00' });
      for (const [moment, expected] of [
        ['before', '1.00'],
        ['after', '2.00'],
      ] as const) {
        const credit = () =>
          fetch(`${replica.baseUrl}/staff/users/${customer.id}/credit`, {
            method: 'POST',
            headers: {
              Authorization: `Bearer ${clerk.token}`,
              'Content-Type': 'application/json',
              'Idempotency-Key': `cut-${moment}`,
            },
            body: JSON.stringify({ amount: '1.00', reason: 'test' }),
          });
        relay.catchNext({ statement: 'COMMIT\0', moment, action: 'cut' });
        expect((await credit()).status).toBe(503);
        const replayed = await credit();
        expect([replayed.status, replayed.headers.get('Idempotency-Replayed')]).toEqual([
          200,
          moment === 'after' ? 'true' : null,
        ]);
        expect(await service.balanceOf(customer)).toMatchObject({ available: expected });
      }
      await service.audit();
    } finally {
      await replica.close();
    }
  });
});
