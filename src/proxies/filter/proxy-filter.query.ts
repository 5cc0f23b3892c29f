import { ApiProperty } from '@nestjs/swagger';
import { IP_VERSIONS, IP_VERSIONS_TEXT, type IpVersion, PROXY_TYPES, type ProxyType } from '../../common';
import {
  BooleanField,
  ChoiceField,
  DateTimeField,
  IdField,
  PRINTABLE,
  StrictRequest,
  StringField,
} from '../../http';
import { MAX_LABEL_LENGTH, MAX_TAG_LENGTH, normalLabel, normalTag } from './labels';
import type { ProxyFilter } from './proxy-filter';

/** The filter of a request, except for the type, which `GET /proxies/export` has always had. */
export class ProxyFilterFields {
  @ApiProperty({ description: 'Proxies of this country only, e.g. `ru`, in any case', example: 'ru' })
  @StringField({ optional: true, pattern: '^[A-Za-z]{2,4}$' })
  readonly country!: string | null;

  @ApiProperty({ description: `${IP_VERSIONS_TEXT}. Proxies of this version only`, example: '6' })
  @ChoiceField(IP_VERSIONS, { optional: true })
  readonly version!: IpVersion | null;

  @ApiProperty({
    description: 'Only the proxies whose `active` is this at the moment of the answer',
    example: true,
  })
  @BooleanField({ optional: true })
  readonly active!: boolean | null;

  @ApiProperty({ description: 'Only the proxies with exactly this label, `descr`', example: 'scraper 1' })
  @StringField({ optional: true, maxLength: MAX_LABEL_LENGTH, pattern: PRINTABLE })
  readonly label!: string | null;

  @ApiProperty({ description: 'Only the proxies that have this tag among theirs', example: 'team-a' })
  @StringField({ optional: true, maxLength: MAX_TAG_LENGTH, pattern: PRINTABLE })
  readonly tag!: string | null;

  @ApiProperty({
    description: 'Only the proxies whose rental ends before this moment, given with its offset from UTC',
    example: '2026-12-01T00:00:00Z',
  })
  @DateTimeField({ optional: true })
  readonly ends_before!: Date | null;

  @ApiProperty({ description: 'Only the proxies that this purchase delivered', example: 42 })
  @IdField({ optional: true })
  readonly order_id!: number | null;
}

/** The filter of a query. */
export class ProxyFilterQuery extends ProxyFilterFields {
  @ApiProperty({ description: 'Only the proxies of this type, `http` or `socks` (SOCKS5)', example: 'http' })
  @ChoiceField(PROXY_TYPES, { optional: true })
  readonly proxy_type!: ProxyType | null;
}

/** The same filter as JSON, the `filter` of a body. */
@StrictRequest()
export class ProxyFilterBody extends ProxyFilterQuery {}

export function toProxyFilter(
  fields: ProxyFilterFields & { readonly proxy_type: ProxyType | 'all' | null },
): ProxyFilter {
  const { country, version, proxy_type: proxyType, active, label, tag } = fields;
  return {
    country: country && country.toLowerCase(),
    version,
    proxyType: proxyType === 'all' ? null : proxyType,
    active,
    label: label && normalLabel(label),
    tag: tag && normalTag(tag),
    endsBefore: fields.ends_before,
    orderId: fields.order_id,
  };
}
