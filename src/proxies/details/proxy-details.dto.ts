import { ApiInteger, ApiTexts } from '../../http';
import { ProxyOut, toProxyOut } from '../dto/proxy-out.dto';
import type { Proxy } from '../proxy';

export class ProxyDetails extends ProxyOut {
  @ApiTexts('Your own tags, in alphabetical order', ['scraping', 'team-a'])
  tags!: readonly string[];

  @ApiInteger('The purchase that delivered the proxy', 42)
  order_id!: number;
}

export function toProxyDetails(proxy: Proxy, now: Date): ProxyDetails {
  return Object.assign(toProxyOut(proxy, now), { tags: proxy.tags, order_id: proxy.orderId });
}
