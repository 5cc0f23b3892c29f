import { randomInt } from 'node:crypto';
import { PaymentsSandbox } from '../../src/sandbox';
import { forAllTests } from '../support/fixtures';
import { startOwnPostgres } from '../support/own-postgres';
import { Replicas } from '../support/replicas';
import { soak } from '../support/soak';
import { paymentsEnvironment } from '../support/test-service';
import { startWebhookReceiver } from '../support/webhook-receiver';

/** `npm run test:soak` places many more orders. SOAK_SEED repeats a run. */
const ORDERS = Number(process.env['SOAK_ORDERS'] ?? 40);
const SEED = Number(process.env['SOAK_SEED'] ?? randomInt(2 ** 31));
const TIMEOUT_MS = 300_000 + ORDERS * 200;

describe('a soak of two replicas, with faults of every kind at random', () => {
  const postgres = forAllTests(startOwnPostgres);
  const receiver = forAllTests(startWebhookReceiver);
  const payments = forAllTests(() => PaymentsSandbox.start());
  const replicas = forAllTests(() =>
    Replicas.open({
      database: postgres,
      environment: {
        // Scarce enough that orders wait and are sent in batches.
        PROVIDER_RATE_PER_SECOND: '60',
        PURCHASE_WAIT_MS: '1000',
        // Large listings keep the sandbox busy for seconds. A request that waits longer counts as never
        // executed.
        SETTLEMENT_DELAY_SECONDS: '10',
        SWEEP_INTERVAL_SECONDS: '2',
        WEBHOOK_ALLOW_HTTP: 'true',
        WEBHOOK_ALLOWED_NETWORKS: '127.0.0.1',
        LOG_LEVEL: 'error',
        ...paymentsEnvironment(payments),
        PAYMENTS_COMPARE_SECONDS: '2',
      },
      tuning: {
        webhookTimeoutMs: 500,
        // Pauses between attempts are seconds.
        webhookRetrySeconds: 100,
      },
    }),
  );

  it(
    `violates nothing in ${ORDERS} orders (seed ${SEED})`,
    async () => {
      const report = await soak(replicas, postgres, receiver, payments, { orders: ORDERS, seed: SEED });
      process.stdout.write(`${JSON.stringify(report, null, 2)}\n`);
      expect(report.violations).toEqual([]);
      expect(report.batched).toBeGreaterThan(0);
      expect(report.renewed).toBeGreaterThan(0);
      expect(report.deposits).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});
