import type { PaymentsSandbox } from '../../src/sandbox';
import { type BuiltService, eventually } from './built-service';
import type { Customer, Order, Replicas, ServiceResponse } from './replicas';
import type { SeededRandom } from './seeded-random';

const FAULTS = ['lost', '500-done', '500', '429'] as const;

export class SoakDeposits {
  private made = 0;

  constructor(
    private readonly payments: PaymentsSandbox,
    private readonly chooseService: (random: SeededRandom) => BuiltService,
  ) {}

  async make(
    customer: Customer,
    key: string,
    random: SeededRandom,
    retry: (order: Order, random: SeededRandom) => Promise<ServiceResponse>,
  ): Promise<void> {
    const { payments } = this;
    if (random.chance(0.2)) payments.fail('create', random.pick(FAULTS));
    if (random.chance(0.1)) payments.fail('read', random.pick(FAULTS));
    const body = { amount: `${random.integer(100, 999)}.0${random.integer(0, 9)}` };
    const url = (await retry({ customer, key, path: '/deposits', body }, random)).body['payment_url'];
    if (typeof url !== 'string') return;
    const id = url.split('/').at(-1) ?? '';
    this.made += 1;
    payments.notifier.url = `${this.chooseService(random).baseUrl}/payments/sandbox/notifications`;
    payments.notifier.goWrong({ lost: random.chance(0.2), times: random.integer(1, 3) });
    if (random.chance(0.05)) payments.cancel(id);
    else payments.pay(id);
  }

  count(): number {
    return this.made;
  }

  async compare(replicas: Replicas): Promise<string[]> {
    this.payments.resetFaults();
    await untilDepositsEnded(replicas);
    return comparePayments(replicas, this.payments);
  }
}

/** Cuts short the pauses after failures, which can be minutes long. */
export const untilDepositsEnded = (replicas: Replicas): Promise<boolean> =>
  eventually(async () => {
    await replicas.query(`UPDATE deposits SET next_read_at = now() WHERE state = 'pending'`);
    return (await replicas.query(`SELECT FROM deposits WHERE state = 'pending'`)).length === 0;
  });

/** Each received payment must have one ledger entry of its amount, and no other entry may exist. */
export async function comparePayments(
  replicas: Replicas,
  { shop }: Pick<PaymentsSandbox, 'shop'>,
): Promise<string[]> {
  const credited = await replicas.query<{ id: string; amount: string }>(
    `SELECT payments.payment_id AS id, available_delta AS amount
       FROM payments JOIN ledger_entries ON ledger_entries.payment_id = payments.id`,
  );
  const entries = credited.map(({ id, amount }) => `${id} ${amount}`).toSorted();
  const received = [...shop.payments.values()]
    .filter(({ status }) => status === 'succeeded')
    .map(({ id, amount }) => `${id} ${amount.value}`)
    .toSorted();
  return JSON.stringify(entries) === JSON.stringify(received)
    ? []
    : [`payments were credited as ${entries.join(', ')}, and received as ${received.join(', ')}`];
}
