import { IdField, IntegerField } from '../../http';
import { ProxyFilterQuery } from '../filter/proxy-filter.query';

export const MAX_PAGE = 1000;

/** Ignores unknown parameters, as the first version of the list did. */
export class ListProxiesQuery extends ProxyFilterQuery {
  @IntegerField({
    description:
      'Returns a page of at most this many proxies, whose `Link` header has the next page. Without ' +
      '`limit` and `cursor` the response has all proxies',
    example: 100,
    absent: 'null',
    greaterThan: 0,
    atMost: MAX_PAGE,
  })
  readonly limit!: number | null;

  @IdField({
    description: 'The page after the proxy with this id: the `Link` of the previous page has it',
    absent: 'null',
  })
  readonly cursor!: number | null;
}
