import { Controller, Get, Header, Req } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { Request } from 'express';
import { Public } from '../../auth';
import { plainAddress } from '../../common';
import { isForwarded } from './is-forwarded';
import { Judge } from './judge';
import { NothingToJudge } from './trials.errors';

const NONCE = /^[0-9a-f]{1,64}$/;

/**
 * Returns the address from which the request came, and nothing else. It does not use the database. It is for
 * requests through a customer's proxy, so that the description of the API omits it.
 */
@ApiExcludeController()
@Controller('judge')
export class JudgeController {
  constructor(private readonly judge: Judge) {}

  @Get()
  @Public()
  @Header('Cache-Control', 'no-store')
  show(@Req() request: Request): { nonce: string; address: string | null; forwarded_for: boolean } {
    const nonce = new URLSearchParams(request.url.split('?')[1]).get('nonce') ?? '';
    if (this.judge.url === undefined || !NONCE.test(nonce)) throw new NothingToJudge();
    return { nonce, address: plainAddress(request.ip), forwarded_for: isForwarded(request) };
  }
}
