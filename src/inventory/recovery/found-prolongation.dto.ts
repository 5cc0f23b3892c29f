import { ApiProperty } from '@nestjs/swagger';
import { ApiInteger, ApiMoment, ApiNullable, ApiNullableMoment } from '../../http';

export const FOUND_PROLONGATION_STATES = ['open', 'charged', 'written-off'] as const;
export type FoundProlongationState = (typeof FOUND_PROLONGATION_STATES)[number];

/** A found prolongation in staff's responses. */
export class FoundProlongationOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', enum: FOUND_PROLONGATION_STATES, example: 'open' })
  state!: FoundProlongationState;

  @ApiInteger('The proxy that was prolonged', 5001)
  proxy_id!: number;

  @ApiInteger('The user who rents it', 42)
  user_id!: number;

  @ApiMoment('The end of the rental that the restored database had')
  date_end_before!: Date;

  @ApiMoment('The end that the provider shows')
  date_end!: Date;

  @ApiInteger('The days between them', 30)
  days!: number;

  @ApiMoment('When a sweep found it')
  found_at!: Date;

  @ApiNullableMoment('When staff decided about it', null)
  resolved_at!: Date | null;

  @ApiNullable('integer', 'The order by which it was charged', null)
  order_id!: number | null;
}
