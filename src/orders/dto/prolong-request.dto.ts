import { IntegerField } from '../../common';

export class ProlongRequest {
  @IntegerField({ greaterThan: 0 })
  readonly period!: number;
}
