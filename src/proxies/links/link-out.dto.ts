import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { ApiChoice, ApiInteger, ApiMoment, ApiNullable, ApiNullableMoment, PageOf } from '../../http';
import { FORMAT_NAMES, type FormatName } from '../export/formats';
import { ProxyFilterBody } from '../filter/proxy-filter.query';

export class LinkOut {
  @ApiProperty({ type: 'integer', example: 5 })
  id!: number;

  @ApiNullable('string', 'The purpose of the link', 'Clash on the laptop')
  name!: string | null;

  @ApiNullable(FORMAT_NAMES, 'The export format. `null` if the link has a template', 'clash')
  format!: FormatName | null;

  @ApiNullable('string', 'The template of each line. `null` if the link has a format', null)
  template!: string | null;

  @ApiProperty({
    allOf: [{ $ref: getSchemaPath(ProxyFilterBody) }],
    description: 'The filter that selects the proxies. An empty filter matches all proxies',
    example: { country: 'ru', active: true },
  })
  filter!: object;

  @ApiNullable(
    'texts',
    'Networks from which the link can be used. `null` if it can be used from any network',
    ['203.0.113.0/24'],
  )
  networks!: readonly string[] | null;

  @ApiChoice(
    ['active', 'expired', 'revoked'],
    '`revoked`: the token that created the link was revoked',
    'active',
  )
  state!: 'active' | 'expired' | 'revoked';

  @ApiInteger('The token that created the link', 17)
  token_id!: number;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the link expires. `null` for never', '2027-01-01T00:00:00.000Z')
  expires_at!: Date | null;

  @ApiNullableMoment('When the link was last fetched. Updated with a delay of a few seconds', null)
  last_used_at!: Date | null;

  @ApiInteger('The number of fetches, including 304 responses. Updated with a delay of a few seconds', 0)
  uses!: number;
}

export class CreatedLink extends LinkOut {
  @ApiProperty({
    type: 'string',
    format: 'uri-reference',
    description: "The URL to enter in the tool. It contains the link's secret and is shown only once",
    example: '/l/prl_...',
  })
  url!: string;
}

export class LinksPage extends PageOf(LinkOut) {}
