import { ApiInteger } from '../../http';

/** Proxies that are missing at the provider, for staff's decision. */
export class MissingProxiesOut {
  @ApiInteger('The number of missing rented proxies', 0)
  proxies!: number;

  @ApiInteger('The number of users who rent them', 0)
  users!: number;
}
