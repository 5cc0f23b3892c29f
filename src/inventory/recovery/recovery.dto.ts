import { ApiProperty } from '@nestjs/swagger';
import { ApiBoolean, ApiInteger, ApiNullableMoment } from '../../http';

/** Whether orders are shut because the database was restored, and what is left to be done until they open. */
export class RecoveryOut {
  @ApiBoolean('Whether orders are shut because the database was restored to an earlier moment', false)
  recovering!: boolean;

  @ApiNullableMoment('When the recovery began. Null: there is none', null)
  begun_at!: Date | null;

  @ApiNullableMoment('When the last complete sweep since then began. Null: none was complete yet', null)
  swept_at!: Date | null;

  @ApiNullableMoment('The earliest time at which a sweep may begin that tells everything', null)
  sweep_counts_from!: Date | null;

  @ApiInteger('Orders that the restored database left open and that are not settled yet', 0)
  open_orders!: number;

  @ApiInteger('Proxies that were bought after the restored moment, for staff to decide', 0)
  undecided_orphans!: number;

  @ApiInteger('Prolongations that were carried out after the restored moment, for staff to decide', 0)
  undecided_prolongations!: number;

  @ApiProperty({
    type: 'string',
    isArray: true,
    description: 'What keeps orders shut. Empty while there is no recovery, or when it can be ended',
    example: [],
  })
  to_be_done!: string[];
}
