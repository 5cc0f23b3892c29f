import { IntegerField, StringField } from '../../http';

export class PriceQuery {
  @IntegerField({ greaterThan: 0, atMost: 1000 })
  readonly count!: number;

  @IntegerField({ greaterThan: 0 })
  readonly period!: number;

  @StringField({ pattern: '^(6|4|4s)$', default: '6' })
  readonly version!: '6' | '4' | '4s';
}
