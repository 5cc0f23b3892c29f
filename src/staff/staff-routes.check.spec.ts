import { Controller, Get } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Public, Scopes } from '../auth';
import { StaffLog } from './staff-log';
import { StaffRoute } from './staff-route';
import { StaffRoutesCheck } from './staff-routes.check';

const TEXTS = { summary: 'Test', description: 'For the test.' };

@Controller('staff/things')
class StaffController {
  @Get()
  @StaffRoute({ scope: 'staff:users', action: 'things.list', ...TEXTS })
  list(): void {}
}

@Controller('things')
class CustomersController {
  @Get()
  @Scopes('profile:read')
  list(): void {}

  @Get('open')
  @Public()
  open(): void {}
}

@Controller('staff')
class UnloggedController {
  @Get()
  @Scopes('staff:users')
  list(): void {}

  @Get('customers')
  @Scopes('profile:read')
  forCustomers(): void {}

  @Get('all')
  @Public()
  open(): void {}
}

@Controller('elsewhere')
class ElsewhereController {
  @Get()
  @StaffRoute({ scope: 'staff:users', action: 'elsewhere', ...TEXTS })
  list(): void {}
}

async function start(...controllers: (new () => object)[]): Promise<void> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [StaffRoutesCheck, { provide: StaffLog, useValue: {} }],
    controllers,
  }).compile();
  await module.createNestApplication({ logger: false }).init();
}

describe('StaffRoutesCheck', () => {
  it('lets an application start whose routes of staff all say what the log calls them', async () => {
    await expect(start(StaffController, CustomersController)).resolves.toBeUndefined();
  });

  it('keeps an application from starting with a route of staff that the log would not have, or that customers could call', async () => {
    await expect(start(UnloggedController)).rejects.toThrow(
      ': UnloggedController.list, UnloggedController.forCustomers, UnloggedController.open',
    );
  });

  it('keeps an application from starting with a route of staff among those of customers', async () => {
    await expect(start(ElsewhereController)).rejects.toThrow(': ElsewhereController.list');
  });
});
