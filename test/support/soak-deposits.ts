import type { PaymentsSandbox } from '../../src/sandbox';
import { type BuiltService, eventually } from './built-service';
import type { Customer, Order, Replicas, ServiceResponse } from './replicas';
import type { SeededRandom } from './seeded-random';

const FAULTS = ['lost', '500-done', '500', '429'] as const;

/** Deposits of the soak: created under faults, then paid or canceled, with notifications that go wrong. */
export class SoakDeposits {
  private made = 0;

  constructor(
    private readonly payments: PaymentsSandbox,
    private readonly chooseService: (random: SeededRandom) => BuiltService,
  ) {}

  /** @param retry sends a request until its response is final */
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
    const response = await retry({ customer, key, path: '/deposits', body }, random);
    const url = response.body['payment_url'];
    // The deposit has ended already.
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

  /** @returns the differences between the books and those of the provider of payments */
  async compare(replicas: Replicas): Promise<string[]> {
    this.payments.resetFaults();
    await untilDepositsEnded(replicas);
    return comparePayments(replicas, this.payments);
  }
}

/** Waits until no deposit is pending. A pause after a failure may be minutes long, and is cut short. */
export const untilDepositsEnded = (replicas: Replicas): Promise<boolean> =>
  eventually(async () => {
    await replicas.query(`UPDATE deposits SET next_read_at = now() WHERE state = 'pending'`);
    const left = await replicas.query(`SELECT FROM deposits WHERE state = 'pending'`);
    return left.length === 0;
  });

/** Each payment that the provider received is credited by one entry of its amount, and nothing else is. */
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
