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

export const CountryFilterField = (): PropertyDecorator =>
  StringField({
    description: 'Only proxies of this country, e.g. `ru`, case-insensitive',
    example: 'ru',
    absent: 'null',
    pattern: '^[A-Za-z]{2,4}$',
  });

export const LabelFilterField = (): PropertyDecorator =>
  StringField({
    description: 'Only proxies with exactly this label (`descr`)',
    example: 'scraper 1',
    absent: 'null',
    maxLength: MAX_LABEL_LENGTH,
    pattern: PRINTABLE,
  });

export const TagFilterField = (): PropertyDecorator =>
  StringField({
    description: 'Only proxies with this tag',
    example: 'team-a',
    absent: 'null',
    maxLength: MAX_TAG_LENGTH,
    pattern: PRINTABLE,
  });

/** Does not contain the proxy type, because `GET /proxies/export` has a field of its own for it. */
export class ProxyFilterFields {
  @CountryFilterField()
  readonly country!: string | null;

  @ChoiceField(IP_VERSIONS, {
    description: `${IP_VERSIONS_TEXT}. Only proxies of this version`,
    example: '6',
    absent: 'null',
  })
  readonly version!: IpVersion | null;

  @BooleanField({
    description: 'Only proxies with this `active` at the time of the response',
    example: true,
    absent: 'null',
  })
  readonly active!: boolean | null;

  @LabelFilterField()
  readonly label!: string | null;

  @TagFilterField()
  readonly tag!: string | null;

  @DateTimeField({
    description: 'Only proxies whose rental ends before this time, with its offset',
    example: '2026-12-01T00:00:00Z',
    absent: 'null',
  })
  readonly ends_before!: Date | null;

  @IdField({ description: 'Only proxies that this purchase delivered', example: 42, absent: 'null' })
  readonly order_id!: number | null;
}

export class ProxyFilterQuery extends ProxyFilterFields {
  @ChoiceField(PROXY_TYPES, {
    description: 'Only the proxies of this type, `http` or `socks` (SOCKS5)',
    example: 'http',
    absent: 'null',
  })
  readonly proxy_type!: ProxyType | null;
}

@StrictRequest()
export class ProxyFilterBody extends ProxyFilterQuery {}

export function toProxyFilter({
  country,
  version = null,
  proxy_type: proxyType = null,
  active = null,
  label,
  tag,
  ends_before: endsBefore = null,
  order_id: orderId = null,
}: Partial<ProxyFilterFields & { readonly proxy_type: ProxyType | 'all' | null }>): ProxyFilter {
  return {
    country: country ? country.toLowerCase() : null,
    version,
    proxyType: proxyType === 'all' ? null : proxyType,
    active,
    label: label ? normalLabel(label) : null,
    tag: tag ? normalTag(tag) : null,
    endsBefore,
    orderId,
  };
}
