import { IntegerField } from '../../../http';

export class ProlongRequest {
  @IntegerField({ greaterThan: 0 })
  readonly period!: number;
}
