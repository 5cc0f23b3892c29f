import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiNullable, ApiNullableMoment } from '../../http';

export const FOUND_PROLONGATION_STATES = ['open', 'charged', 'written-off'] as const;
export type FoundProlongationState = (typeof FOUND_PROLONGATION_STATES)[number];

/** A prolongation that the provider shows and no order accounts for, as staff see it. */
export class FoundProlongationOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', enum: FOUND_PROLONGATION_STATES, example: 'open' })
  state!: FoundProlongationState;

  @ApiProperty({ type: 'integer', description: 'The proxy that was prolonged', example: 5001 })
  proxy_id!: number;

  @ApiProperty({ type: 'integer', description: 'The user who rents it', example: 42 })
  user_id!: number;

  @ApiMoment('The end of the rental that the restored database had')
  date_end_before!: Date;

  @ApiMoment('The end that the provider shows')
  date_end!: Date;

  @ApiProperty({ type: 'integer', description: 'How many days lie between them', example: 30 })
  days!: number;

  @ApiMoment('When a sweep found it')
  found_at!: Date;

  @ApiNullableMoment('When staff decided about it', null)
  resolved_at!: Date | null;

  @ApiNullable('integer', { description: 'The order by which it was charged', example: null })
  order_id!: number | null;
}
