import { Controller, Get, Post } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { AccessAssertion } from './access.assertion';
import { Public, Scopes } from './access.decorators';

@Controller('guarded')
class GuardedController {
  @Get('open')
  @Public()
  open(): void {}

  @Get('closed')
  @Scopes('profile:read')
  closed(): void {}
}

@Controller('unbounded')
class UnboundedController {
  @Post('bounded')
  @Public({ maxBodyBytes: 100 })
  bounded(): void {}

  @Post()
  @Public()
  unbounded(): void {}
}

@Controller('forgotten')
class ForgottenController {
  @Get()
  @Public()
  open(): void {}

  @Get('other')
  unmarked(): void {}
}

async function start(...controllers: (new () => object)[]): Promise<void> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [AccessAssertion],
    controllers,
  }).compile();
  await module.createNestApplication({ logger: false }).init();
}

describe('AccessAssertion', () => {
  it('lets an application start when every route says who may call it', async () => {
    await expect(start(GuardedController)).resolves.toBeUndefined();
  });

  it('refuses to start with a route that does not say so, and names the route', async () => {
    await expect(start(GuardedController, ForgottenController)).rejects.toThrow(
      'neither @Scopes nor @Public: ForgottenController.unmarked',
    );
  });

  it('refuses to start with a public route that takes a body of any size', async () => {
    await expect(start(UnboundedController)).rejects.toThrow(
      '@Public without maxBodyBytes: UnboundedController.unbounded',
    );
  });
});
