import { ApiProperty } from '@nestjs/swagger';
import {
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiListOf,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
} from '../http';
import type { BreakerStatus } from '../provider';
import { MaintenanceOut } from '../sync';

const EXAMPLE_REPLICA = '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e';
const ApiCount = (description: string, example = 0) => ApiInteger(description, example);

export class ProviderBalanceOut {
  @ApiRoubles('Roubles', '48210.55')
  amount!: string;

  @ApiMoment('When the provider last reported the balance')
  seen_at!: Date;

  @ApiBoolean('Whether the balance is below PROVIDER_LOW_BALANCE', false)
  is_low!: boolean;
}

export class CatalogStatusOut {
  @ApiText(
    'The kind of copy: lists of countries, the stock of a country, the price table, or prices that are ' +
      'not in the table',
    'prices',
  )
  kind!: string;

  @ApiCount('The number of stored copies', 1)
  copies!: number;

  @ApiNullableMoment('When the oldest of these copies was fetched')
  oldest_fetched_at!: Date | null;

  @ApiNullableMoment('When the newest of these copies was fetched')
  newest_fetched_at!: Date | null;
}

export class JobStatusOut {
  @ApiText(
    '`sweep` compares our proxies with those at the provider, `active-flags` marks proxies that have ' +
      'ended, `expiring` sends reminders of rentals that end soon, `renewals` renews rentals, ' +
      '`proxy-refunds` decides refunds of proxies, `proxy-deletions` deletes refunded ones at the ' +
      'provider, `compare-payments` finds missed payments, `sales-days` sums up sales, `retention` ' +
      "removes old rows, `retries` corrects retry times after the database's clock was set, `audit-day` " +
      'and `audit-all` check the books',
    'sweep',
  )
  name!: string;

  @ApiChoice(
    ['done', 'running', 'broken-off'],
    'The state of the last run. Another replica resumes an interrupted run',
    'done',
  )
  state!: 'done' | 'running' | 'broken-off';

  @ApiMoment('When the last run began')
  started_at!: Date;

  @ApiNullableMoment('When the last run ended')
  finished_at!: Date | null;

  @ApiText('The replica that runs or ran the job', EXAMPLE_REPLICA)
  holder!: string;

  @ApiProperty({
    anyOf: [{ type: 'object', additionalProperties: { type: 'integer' } }, { type: 'null' }],
    description: 'The results of the run, or its progress so far, as counts by name',
    example: { listed: 51234, changed: 2, unmatched: 0, withdrawn: 1, implausible: 0, unread_foreign: 1 },
  })
  report!: Readonly<Record<string, number>> | null;
}

export class BrokenInvariantOut {
  @ApiText('The name of the invariant', 'balances-equal-sums-of-entries')
  name!: string;

  @ApiCount('The number of rows that violate the invariant', 1)
  violations!: number;
}

export class AuditRunOut {
  @ApiChoice(
    ['day', 'all'],
    '`day`: changes since the start of yesterday, each night. `all`: all data, each week',
    'day',
  )
  scope!: 'day' | 'all';

  @ApiMoment('When the last run began')
  started_at!: Date;

  @ApiMoment('When the last run ended')
  finished_at!: Date;

  @ApiBoolean('Whether every invariant held', true)
  ok!: boolean;

  @ApiProperty({
    type: () => BrokenInvariantOut,
    isArray: true,
    description: 'The violated invariants. `cli audit` shows the rows',
    example: [],
  })
  violations!: readonly BrokenInvariantOut[];
}

export class BreakerOut {
  @ApiChoice(
    ['money', 'reads', 'funds'],
    '`money` guards calls that cost something and `reads` all others; `funds` opens when our balance at ' +
      'the provider is too low',
    'money',
  )
  name!: BreakerStatus['name'];

  @ApiChoice(
    ['closed', 'open', 'half-open'],
    '`closed` lets calls through, `open` holds them back, `half-open` lets one through as a trial',
    'closed',
  )
  state!: BreakerStatus['state'];

  @ApiMoment('When this state began')
  since!: string;
}

export class WaitingCallsOut {
  @ApiCount('Purchases and prolongations')
  order!: number;

  @ApiCount("Searches for an order's outcome")
  confirmation!: number;

  @ApiCount('Requests for the price table')
  price!: number;

  @ApiCount('All other calls')
  rest!: number;

  @ApiCount('Requests for exact prices that are not in the price table')
  exact!: number;

  @ApiCount('Requests for the stock of a country, made for orders that cannot be paid for')
  spare!: number;
}

export class ReplicaOut {
  @ApiText('The id of the replica', EXAMPLE_REPLICA)
  holder!: string;

  @ApiMoment('When the replica last reported')
  reported_at!: Date;

  @ApiProperty({ type: 'integer', example: 4711 })
  pid!: number;

  @ApiMoment('When its process started')
  started_at!: string;

  @ApiProperty({ type: () => BreakerOut, isArray: true })
  breakers!: readonly BreakerOut[];

  @ApiProperty({
    type: () => WaitingCallsOut,
    description: 'Provider calls waiting for a rate permit, by priority, highest first',
  })
  waiting_calls!: WaitingCallsOut;

  @ApiCount('Queued orders whose requests are pending on this replica')
  waiting_orders!: number;

  @ApiTexts(
    'Migrations that were run by a later version and are unknown to this replica. The replica still ' +
      'serves requests; this is normal during an upgrade',
    [],
  )
  unknown_migrations!: readonly string[];
}

export class StatusOut {
  @ApiMoment("The database's time, from which ages are measured")
  at!: Date;

  @ApiNullable(ProviderBalanceOut, 'Our balance at the provider. `null` before its first response')
  provider_balance!: ProviderBalanceOut | null;

  @ApiRoubles(
    'Amount that the provider charged for orders closed in the last 24 hours, in roubles',
    '3310.40',
  )
  spent_24_hours!: string;

  @ApiNullable(
    'number',
    'How many hours the balance will last at that rate. `null` if nothing was spent, or the balance is ' +
      'unknown',
    349.5,
  )
  runway_hours!: number | null;

  @ApiCount('Orders that have not been sent to the provider', 3)
  orders_waiting!: number;

  @ApiNullableMoment('When the oldest of these orders was placed')
  oldest_waiting_at!: Date | null;

  @ApiCount('Orders that were sent but have not received a response yet', 1)
  orders_submitting!: number;

  @ApiCount('Orders that were sent and whose outcome is being checked')
  orders_confirming!: number;

  @ApiCount('Orders that await a decision by staff', 1)
  orders_in_review!: number;

  @ApiNullableMoment('When the oldest of these orders was placed')
  oldest_in_review_at!: Date | null;

  @ApiCount('Proxies at the provider that match no order and await a decision by staff')
  open_unmatched_proxies!: number;

  @ApiCount('Due renewals waiting for the service or the provider', 2)
  renewals_due!: number;

  @ApiNullableMoment('When the oldest of these renewals became due')
  oldest_renewal_due_at!: Date | null;

  @ApiCount(
    'Renewals that became due in the last 24 hours and failed: `GET /staff/renewals` shows the reasons',
  )
  renewals_failed!: number;

  @ApiNullableMoment('When all renewals were paused. `null` if they are not', null)
  renewals_paused_at!: Date | null;

  @ApiCount('Users whose renewals staff have paused')
  users_with_paused_renewals!: number;

  @ApiProperty({ type: () => MaintenanceOut, description: 'Whether the service is closed for maintenance' })
  maintenance!: MaintenanceOut;

  @ApiListOf(() => CatalogStatusOut, "The local copies of the provider's catalog, by kind")
  catalog!: readonly CatalogStatusOut[];

  @ApiListOf(() => JobStatusOut, 'The last run of each job that runs on one replica at a time')
  jobs!: readonly JobStatusOut[];

  @ApiListOf(
    () => AuditRunOut,
    'The last audit of the books for each scope. Empty until the first audit has ended',
  )
  audits!: readonly AuditRunOut[];

  @ApiListOf(
    () => ReplicaOut,
    'The replicas that reported in the last 20 seconds, with their circuit breakers and queues',
  )
  replicas!: readonly ReplicaOut[];

  @ApiTexts(
    "Unneeded privileges of the service's database role, such as changing balances. Empty if the " +
      'service runs with two roles, as recommended',
    [],
  )
  excessive_database_rights!: readonly string[];
}
