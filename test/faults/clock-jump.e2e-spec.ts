import { ALL_PAYMENT_SCOPES, ALL_SCOPES } from '../../src/auth';
import { ReconciliationService } from '../../src/orders/reconciliation/reconciliation.service';
import { PaymentsSandbox } from '../../src/sandbox';
import { fetchAs } from '../support/api-client';
import { eventually } from '../support/built-service';
import { canFakeTime, FakedTime } from '../support/faked-time';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { captureLog } from '../support/log-capture';
import { startOwnPostgres } from '../support/own-postgres';
import { describeWith } from '../support/programs';
import { runRenewals } from '../support/renewals';
import { createStaff } from '../support/staff';
import { startTestService } from '../support/test-service';
import { startWebhookReceiver, TEST_SECRET } from '../support/webhook-receiver';

jest.setTimeout(120_000);

const HOUR_MS = 3_600_000;

describeWith(canFakeTime ? [] : ['faketime'], 'The database’s clock is three hours ahead for a while', () => {
  const log = forAllTests(captureLog, (capture) => capture.stop());
  const time = forAllTests(() => FakedTime.start());
  const postgres = forAllTests(() => startOwnPostgres(time.environment()));
  const payments = forAllTests(() => PaymentsSandbox.start());
  const receiver = forAllTests(() => startWebhookReceiver());
  const service = forAllTests(() =>
    startTestService({
      database: postgres,
      payments,
      environment: { SETTLEMENT_DELAY_SECONDS: '600', LOG_LEVEL: 'warn' },
      // A search under way when the clock is set back would find the purchase before it is retried.
      tuning: { reconcileIntervalMs: HOUR_MS },
    }),
  );
  beforeClosing(() => service.audit({ withProvider: true }));

  const query = <Row>(statement: string, parameters: unknown[] = []) =>
    service.owner.query<Row[]>(statement, parameters);
  const warnings = () => log.lines.filter((line) => line.includes('clock was'));
  const retry = () => service.runJob('retries');
  const search = () =>
    eventually(async () => (await service.app.get(ReconciliationService).settleDue(1)) === 1);

  it('retries what has failed meanwhile, and nothing that is planned', async () => {
    const staff = await createStaff(service);
    const user = await service.createUser({ scopes: [...ALL_SCOPES, ...ALL_PAYMENT_SCOPES] });
    await query('INSERT INTO webhooks (user_id, url, secret) VALUES ($1, $2, $3)', [
      user.id,
      `${receiver.url}/hook`,
      TEST_SECRET,
    ]);
    const deposit = async (key: string): Promise<number> => {
      const headers = { 'Idempotency-Key': key };
      const response = await fetchAs(user, 'POST', `${service.baseUrl}/deposits`, { amount: '500' }, headers);
      return ((await response.json()) as { id: number }).id;
    };
    const buy = async () => Number((await user.buy({ period: 7 })).data?.proxies[0]?.id);
    const proxies = [await buy(), await buy(), await buy()];
    await retry();
    await time.setOffset(3 * 3600);
    await retry();
    receiver.responder = () => 500;

    // Due now, due only by the fast clock, and due tomorrow.
    for (const [n, hours] of [168, 167, 144].entries()) {
      await query(
        `INSERT INTO renewal_rules (user_id, proxy_id, period, max_price, hours_before)
         VALUES ($1, $2, 7, 0.01, $3)`,
        [user.id, proxies[n], hours],
      );
    }
    await runRenewals(service);
    const renewals = () =>
      query<{ state: string; isDue: boolean }>(
        `SELECT state, next_try_at <= now() AS "isDue" FROM renewals ORDER BY array_position($1, proxy_id)`,
        [proxies],
      );
    const id = await deposit('paid');
    payments.pay([...payments.shop.payments.keys()][0] ?? '');
    await eventually(async () => (await query(`SELECT FROM deposits WHERE state = 'succeeded'`)).length > 0);
    payments.fail('refund', '500');
    const refund = { amount: '10', reason: 'x' };
    await staff.post(`/staff/deposits/${id}/refund`, refund, { 'Idempotency-Key': 'refund' });
    await eventually(() => payments.calls.refund > 0);
    await deposit('open');
    await service.control.addFault({ method: 'buy', kind: 'response-lost', hiddenForMs: HOUR_MS });
    const { response } = await user.buy();
    expect(response.status).toBe(503);
    await search();
    const failed = `SELECT FROM webhook_deliveries WHERE attempts > 0 AND state = 'pending'`;
    await eventually(async () => (await query(failed)).length > 0);

    await time.setOffset(0);
    receiver.responder = () => 204;
    await service.control.setClockOffset(HOUR_MS);
    const planned = (await renewals()).slice(1);
    expect(await renewals()).toMatchObject([
      { state: 'skipped', isDue: false },
      { state: 'skipped', isDue: false },
      { state: 'planned', isDue: false },
    ]);
    const report = await retry();
    expect(report).toMatchObject({ orders: 1, renewals: 1, deposits: 1, deposit_refunds: 1 });
    await search();
    await service.untilSettled();
    await eventually(async () => {
      const [left] = await query<{ n: number }>(
        `SELECT count(*)::integer AS n FROM webhook_deliveries WHERE state = 'pending'`,
      );
      return left?.n === 0;
    });
    expect(await renewals()).toEqual([{ state: 'skipped', isDue: true }, ...planned]);
    expect(await retry()).toEqual({});
    expect(warnings()).toEqual([
      expect.stringContaining('clock was set by 10800 s: retries brought forward: {}'),
      expect.stringContaining('clock was set by -10800 s: retries brought forward: {\\"'),
    ]);
  });
});
