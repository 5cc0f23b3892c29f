import { ApiExtraModels, ApiProperty } from '@nestjs/swagger';
import { NetworksField } from '../../auth';
import { ChoiceField, DateTimeField, ObjectField, StrictRequest, TextField } from '../../http';
import { ExportTemplateField, FORMAT_NAMES, type FormatName, ProxyFilterBody } from '../../proxies';

@StrictRequest()
@ApiExtraModels(ProxyFilterBody)
export class NewLinkRequest {
  @ApiProperty({
    description:
      'The format of the export, as of `GET /proxies/lists/…`: `json`, unless there is a `template`',
    example: 'clash',
  })
  @ChoiceField(FORMAT_NAMES, { default: 'json' })
  format!: FormatName;

  @ExportTemplateField({ optional: true })
  template!: string | null;

  @ApiProperty({ description: 'Which proxies, at the moment of each fetch. All of them by default' })
  @ObjectField(ProxyFilterBody, { optional: true })
  filter!: ProxyFilterBody | null;

  @ApiProperty({
    description:
      'When the link stops working. It lies in the future and not behind the end of the token, which is ' +
      'the default',
  })
  @DateTimeField({ optional: true })
  expires_at!: Date | null;

  @ApiProperty({
    description:
      'The only networks from which the link works, in CIDR notation. They lie within those of the token, ' +
      'which are the default',
    example: ['203.0.113.0/24'],
  })
  @NetworksField()
  networks!: readonly string[] | null;

  @ApiProperty({ description: 'What the link is for; only you see it', example: 'Clash on the laptop' })
  @TextField({ optional: true })
  descr!: string | null;
}
