import { ObjectField, StrictRequest, StringListField } from '../../http';
import { ProxyFilterBody } from '../filter/proxy-filter.query';

export const MAX_TARGETS = 1000;

const anyText = { isValid: () => true, type: 'string_type', msg: 'Input should be a valid string' };

@StrictRequest()
export class BulkTargetRequest {
  @StringListField({
    description: `The \`id\`s of up to ${MAX_TARGETS} proxies; duplicates count once`,
    example: ['17', '18'],
    absent: 'null',
    atLeast: 1,
    atMost: MAX_TARGETS,
    of: anyText,
  })
  readonly proxy_ids!: readonly string[] | null;

  @ObjectField(ProxyFilterBody, {
    description:
      `Selects the matching proxies, at most ${MAX_TARGETS}, instead of \`proxy_ids\`. \`{}\` matches ` +
      'all proxies',
    example: { tag: 'team-a', active: true },
    absent: 'null',
  })
  readonly filter!: ProxyFilterBody | null;
}
