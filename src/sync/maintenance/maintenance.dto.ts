import { ApiProperty } from '@nestjs/swagger';
import { ApiBoolean, ApiInteger, ApiMoment, ApiNullable, ApiNullableMoment, ApiTexts } from '../../http';

export const MAINTENANCE_REASONS = ['restored', 'server-changed'] as const;
export type MaintenanceReason = (typeof MAINTENANCE_REASONS)[number];

export class MaintenanceOut {
  @ApiBoolean('Whether the service is closed for maintenance and accepts no orders', false)
  closed!: boolean;

  @ApiNullable(
    MAINTENANCE_REASONS,
    '`restored`: staff began the maintenance because the database was restored to an earlier point in ' +
      'time. It ends when everything is decided. `server-changed`: the service began it at startup because ' +
      'the PostgreSQL server or its timeline had changed. It ends when everything is decided, or ' +
      'immediately with `nothing_was_lost`. `null` if the service is open',
    null,
  )
  reason!: MaintenanceReason | null;

  @ApiNullableMoment('When the maintenance began. `null` if there is none', null)
  begun_at!: Date | null;

  @ApiNullableMoment('When the last complete sweep since then began. `null` if there was none', null)
  swept_at!: Date | null;

  @ApiNullableMoment('Only a sweep that starts after this time counts as complete evidence', null)
  sweep_counts_from!: Date | null;

  @ApiInteger('Orders that were open in the restored database and are not settled yet', 0)
  open_orders!: number;

  @ApiInteger('Proxies bought after the restore point that await a decision by staff', 0)
  undecided_unmatched_proxies!: number;

  @ApiInteger('Prolongations executed after the restore point that await a decision by staff', 0)
  undecided_prolongations!: number;

  @ApiInteger(
    'Missing proxies that may have been refunded after the restore point and await a decision by staff',
    0,
  )
  undecided_refunds!: number;

  @ApiTexts('The remaining work. Empty if no maintenance is in progress, or if it can be ended', [])
  to_be_done!: string[];
}

export const FOUND_PROLONGATION_STATES = ['open', 'charged', 'written-off'] as const;
export type FoundProlongationState = (typeof FOUND_PROLONGATION_STATES)[number];

export class FoundProlongationOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', enum: FOUND_PROLONGATION_STATES, example: 'open' })
  state!: FoundProlongationState;

  @ApiInteger('The proxy that was prolonged', 5001)
  proxy_id!: number;

  @ApiInteger('The user who rents the proxy', 42)
  user_id!: number;

  @ApiMoment('When the rental ends according to the restored database')
  date_end_before!: Date;

  @ApiMoment('When the rental ends according to the provider')
  date_end!: Date;

  @ApiInteger('The number of days between the two ends', 30)
  days!: number;

  @ApiMoment('When a sweep found the prolongation')
  found_at!: Date;

  @ApiNullableMoment('When staff decided on the prolongation', null)
  resolved_at!: Date | null;

  @ApiNullable('integer', 'The order through which the customer was charged for the prolongation', null)
  order_id!: number | null;
}
