import { ApiProperty } from '@nestjs/swagger';
import { ApiNullable } from './fields';

const EXAMPLE_MOMENT = '2026-11-21T12:00:00.000Z';
const EXAMPLE_REPLICA = '3c9f4a52-7d0f-4bb0-a2d3-6b1a3e0ddf0e';
const ApiMoment = (description: string) =>
  ApiProperty({ type: 'string', format: 'date-time', description, example: EXAMPLE_MOMENT });
const ApiNullableMoment = (description: string) =>
  ApiNullable('string', { format: 'date-time', description, example: EXAMPLE_MOMENT });
const ApiCount = (description: string, example = 0) => ApiProperty({ type: 'integer', description, example });

export class ProviderBalanceOut {
  @ApiProperty({ type: 'string', description: 'Roubles', example: '48210.55' })
  amount!: string;

  @ApiMoment('When the provider last named it')
  seen_at!: Date;

  @ApiProperty({ type: 'boolean', description: 'Below PROVIDER_LOW_BALANCE', example: false })
  is_low!: boolean;
}

export class CatalogueStatusOut {
  @ApiProperty({
    type: 'string',
    description: 'Lists of countries, stock of a country, the table of prices, prices outside of it',
    example: 'prices',
  })
  kind!: string;

  @ApiCount('That are kept', 1)
  copies!: number;

  @ApiNullableMoment('The age of the oldest copy')
  oldest_fetched_at!: Date | null;

  @ApiNullableMoment('The age of the newest copy')
  newest_fetched_at!: Date | null;
}

export class JobStatusOut {
  @ApiProperty({
    type: 'string',
    description:
      'sweep: our proxies are held against those at the provider; active-flags: what has ended is marked; sales-days: sales are summed up',
    example: 'sweep',
  })
  name!: string;

  @ApiProperty({
    type: 'string',
    enum: ['done', 'running', 'broken-off'],
    description: 'Of the last run; one that broke off is taken up by another replica',
    example: 'done',
  })
  state!: string;

  @ApiMoment('When the last run began')
  started_at!: Date;

  @ApiNullableMoment('When it came to its end')
  finished_at!: Date | null;

  @ApiProperty({ type: 'string', description: 'The replica that does or did it', example: EXAMPLE_REPLICA })
  holder!: string;

  @ApiProperty({
    anyOf: [{ type: 'object', additionalProperties: { type: 'integer' } }, { type: 'null' }],
    description: 'What it did, or how far it has come',
    example: { listed: 51234, changed: 2, orphans: 0, withdrawn: 1 },
  })
  report!: Readonly<Record<string, number>> | null;
}

export class BreakerOut {
  @ApiProperty({
    type: 'string',
    enum: ['money', 'reads', 'funds'],
    description:
      'money: calls that cost something; reads: all others; funds: our balance at the provider was too low',
    example: 'money',
  })
  name!: string;

  @ApiProperty({
    type: 'string',
    enum: ['closed', 'open', 'half-open'],
    description: 'closed: calls are made; open: they are kept back; half-open: one is tried',
    example: 'closed',
  })
  state!: string;

  @ApiMoment('Since when')
  since!: string;
}

export class WaitingCallsOut {
  @ApiCount('Purchases and prolongations')
  order!: number;

  @ApiCount('Looks for what became of orders')
  confirmation!: number;

  @ApiCount('Prices')
  price!: number;

  @ApiCount('Everything else')
  rest!: number;
}

export class ReplicaOut {
  @ApiProperty({ type: 'string', example: EXAMPLE_REPLICA })
  holder!: string;

  @ApiMoment('When it said what follows')
  reported_at!: Date;

  @ApiProperty({ type: 'integer', example: 4711 })
  pid!: number;

  @ApiMoment('Of its process')
  started_at!: string;

  @ApiProperty({ type: () => BreakerOut, isArray: true })
  breakers!: readonly BreakerOut[];

  @ApiProperty({
    type: () => WaitingCallsOut,
    description: 'Calls that wait for their turn at the provider, in the order in which they go',
  })
  waiting_calls!: WaitingCallsOut;

  @ApiCount('Orders in line whose requests wait at this replica')
  waiting_orders!: number;
}

export class StatusOut {
  @ApiMoment('The time of the database, by which ages are told')
  at!: Date;

  @ApiProperty({
    anyOf: [{ $ref: '#/components/schemas/ProviderBalanceOut' }, { type: 'null' }],
    description: 'Of our account at the provider; null before its first answer',
  })
  provider_balance!: ProviderBalanceOut | null;

  @ApiProperty({
    type: 'string',
    description: 'Roubles that the provider took for orders closed in the last 24 hours',
    example: '3310.40',
  })
  spent_24_hours!: string;

  @ApiNullable('number', {
    description:
      'How long the balance lasts at that rate; null when nothing was spent, or no balance is known',
    example: 349.5,
  })
  runway_hours!: number | null;

  @ApiCount('Orders that were not sent to the provider yet', 3)
  orders_waiting!: number;

  @ApiNullableMoment('When the one of them that waits longest was placed')
  oldest_waiting_at!: Date | null;

  @ApiCount('Orders that were sent, and not answered yet', 1)
  orders_submitting!: number;

  @ApiCount('Orders that were sent, and whose outcome is being looked for')
  orders_confirming!: number;

  @ApiCount('Orders that staff have to decide', 1)
  orders_in_review!: number;

  @ApiNullableMoment('When the oldest of them was placed')
  oldest_in_review_at!: Date | null;

  @ApiCount('Proxies at the provider that no order accounts for, for staff to decide')
  open_orphans!: number;

  @ApiProperty({
    type: () => CatalogueStatusOut,
    isArray: true,
    description: 'The copies of the provider’s catalog, by kind',
  })
  catalogue!: readonly CatalogueStatusOut[];

  @ApiProperty({
    type: () => JobStatusOut,
    isArray: true,
    description: 'The last run of each job that one replica does for all',
  })
  jobs!: readonly JobStatusOut[];

  @ApiProperty({
    type: () => ReplicaOut,
    isArray: true,
    description: 'Those that were heard of in the last 20 seconds, with their breakers and queues',
  })
  replicas!: readonly ReplicaOut[];
}
