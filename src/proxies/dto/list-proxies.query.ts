import { IdField, IntegerField } from '../../http';
import { ProxyFilterQuery } from '../filter/proxy-filter.query';

export const MAX_PAGE = 1000;

/** Ignores unknown parameters, as the first version of the list did. */
export class ListProxiesQuery extends ProxyFilterQuery {
  @IntegerField({
    description:
      "Returns a page of at most this many proxies. The page's `Link` header contains the URL of the " +
      'next page. Without `limit` and `cursor`, the response contains all proxies',
    example: 100,
    absent: 'null',
    greaterThan: 0,
    atMost: MAX_PAGE,
  })
  readonly limit!: number | null;

  @IdField({
    description:
      "Returns the page that begins after the proxy with this id. Each page's `Link` header contains " +
      'the next cursor',
    absent: 'null',
  })
  readonly cursor!: number | null;
}
