import { ApiProperty } from '@nestjs/swagger';
import { ApiBoolean, ApiInteger, ApiMoment, ApiNullable, ApiNullableMoment, ApiText } from '../../http';

export const UNMATCHED_PROXY_STATES = ['open', 'assigned', 'written-off'] as const;
export type UnmatchedProxyState = (typeof UNMATCHED_PROXY_STATES)[number];

export class UnmatchedProxyOut {
  @ApiProperty({ type: 'integer', example: 3 })
  id!: number;

  @ApiProperty({ type: 'string', enum: UNMATCHED_PROXY_STATES, example: 'open' })
  state!: UnmatchedProxyState;

  @ApiProperty({ type: 'string', example: 'px6' })
  provider!: string;

  @ApiText("The provider's id for the proxy", '28451')
  provider_proxy_id!: string;

  @ApiText('The order reference under which the proxy was bought', 'prs.a1b2c3.u42.o815x')
  order_reference!: string;

  @ApiNullable('integer', 'The order named by the order reference', 815)
  named_order_id!: number | null;

  @ApiNullable('integer', 'The user named by the order reference', 42)
  named_user_id!: number | null;

  @ApiBoolean('Whether the order named by the order reference was lost when the database was restored', false)
  is_order_forgotten!: boolean;

  @ApiProperty({ type: 'string', example: '45.90.1.7' })
  host!: string;

  @ApiProperty({ type: 'string', example: '8080' })
  port!: string;

  @ApiProperty({ type: 'string', example: 'http' })
  proxy_type!: string;

  @ApiNullable('string', { example: 'ru' })
  country!: string | null;

  @ApiNullable('string', { example: '6' })
  version!: string | null;

  @ApiMoment()
  date_start!: Date;

  @ApiMoment()
  date_end!: Date;

  @ApiMoment('When a sweep found the proxy')
  found_at!: Date;

  @ApiNullableMoment('When staff decided on the proxy', null)
  resolved_at!: Date | null;

  @ApiNullable('integer', 'The order to which the proxy was assigned', null)
  order_id!: number | null;
}

export class MissingProxiesOut {
  @ApiInteger('The number of missing rented proxies', 0)
  proxies!: number;

  @ApiInteger('The number of users who rent missing proxies', 0)
  users!: number;
}
