import { ApiInteger } from '../../http';

/** Proxies that are missing at the provider, for staff's decision. */
export class MissingProxiesOut {
  @ApiInteger('How many rented proxies are missing', 0)
  proxies!: number;

  @ApiInteger('How many users rent them', 0)
  users!: number;
}
