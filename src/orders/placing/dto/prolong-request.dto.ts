import { ApiProperty } from '@nestjs/swagger';
import { PERIODS_TEXT } from '../../../catalog';
import { IntegerField } from '../../../http';

export class ProlongRequest {
  @ApiProperty({ description: PERIODS_TEXT, example: 30 })
  @IntegerField({ greaterThan: 0 })
  readonly period!: number;
}
