import { Controller, Get, Header, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../../auth';
import { plainAddress } from '../../common';
import { EchoEndpoint } from './echo-endpoint';
import { NothingToEcho } from './proxy-checks.errors';

const NONCE = /^[0-9a-f]{1,64}$/;

/** Headers other than X-Forwarded-For that may reveal a proxy's client. */
const REVEALING_HEADERS = ['forwarded', 'x-real-ip', 'x-client-ip', 'true-client-ip'];

/**
 * Whether a proxy in front of our load balancers revealed its client.
 * @param request.ips the X-Forwarded-For addresses that our load balancers added
 */
export function isForwarded({ ips, headers }: Pick<Request, 'ips' | 'headers'>): boolean {
  const forwardedFor = [headers['x-forwarded-for'] ?? []].flat().flatMap((list) => list.split(','));
  if (forwardedFor.length > ips.length) return true;
  // Behind our load balancers, these headers prove nothing, because a load balancer may set them itself.
  return ips.length === 0 && REVEALING_HEADERS.some((name) => headers[name] !== undefined);
}

/** Returns the address of a request that came through a customer's proxy. Does not use the database. */
@ApiExcludeController()
@Controller('echo')
export class EchoController {
  constructor(private readonly echo: EchoEndpoint) {}

  @Get()
  @Public()
  @Header('Cache-Control', 'no-store')
  show(@Req() request: Request): { nonce: string; address: string | null; forwarded_for: boolean } {
    const nonce = new URLSearchParams(request.url.split('?')[1]).get('nonce') ?? '';
    if (this.echo.url === undefined || !NONCE.test(nonce)) throw new NothingToEcho();
    return { nonce, address: plainAddress(request.ip), forwarded_for: isForwarded(request) };
  }
}
