import { NetworksField } from '../../auth';
import { ChoiceField, DateTimeField, ObjectField, StrictRequest, TextField } from '../../http';
import { FORMAT_NAMES, type FormatName } from '../export/formats';
import { ExportTemplateField } from '../export/template-field';
import { ProxyFilterBody } from '../filter/proxy-filter.query';

@StrictRequest()
export class NewLinkRequest {
  @ChoiceField(FORMAT_NAMES, {
    description:
      'The export format, as in `GET /proxies/lists/…`. Defaults to `json` unless a `template` is set',
    example: 'clash',
    default: 'json',
  })
  format!: FormatName;

  @ExportTemplateField({ absent: 'null' })
  template!: string | null;

  @ObjectField(ProxyFilterBody, {
    description: 'Which proxies each fetch returns, as of the time of the fetch. Defaults to all proxies',
    absent: 'null',
  })
  filter!: ProxyFilterBody | null;

  @DateTimeField({
    description:
      'When the link expires. It must be in the future, and not after the expiry of the token, which is ' +
      'the default',
    absent: 'null',
  })
  expires_at!: Date | null;

  @NetworksField({
    description:
      "Networks from which the link can be used, in CIDR notation. They must lie within the token's " +
      'networks, which are the default',
    example: ['203.0.113.0/24'],
  })
  networks!: readonly string[] | null;

  @TextField({
    description: 'The purpose of the link; only you see it',
    example: 'Clash on the laptop',
    absent: 'null',
  })
  name!: string | null;
}
