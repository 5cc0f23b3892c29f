import { Controller, Get } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { Public, Scopes } from '../auth';
import { AuditLogService } from './audit-log/audit-log.service';
import { StaffRoute } from './staff-route';
import { StaffRoutesAssertion } from './staff-routes.assertion';

const ROUTE = {
  scope: 'staff:users',
  summary: 'List things',
  description: 'For nobody.',
  response: { description: 'Nothing' },
} as const;

@Controller('staff/things')
class StaffController {
  @Get()
  @StaffRoute({ ...ROUTE, action: 'things.list' })
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
class UnauditedController {
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
  @StaffRoute({ ...ROUTE, action: 'elsewhere' })
  list(): void {}
}

async function start(...controllers: (new () => object)[]): Promise<void> {
  const module = await Test.createTestingModule({
    imports: [DiscoveryModule],
    providers: [StaffRoutesAssertion, { provide: AuditLogService, useValue: {} }],
    controllers,
  }).compile();
  await module.createNestApplication({ logger: false }).init();
}

describe('StaffRoutesAssertion', () => {
  it('starts when every route of staff is audited', async () => {
    await expect(start(StaffController, CustomersController)).resolves.toBeUndefined();
  });

  it('refuses to start with a staff route that is not audited or is open to customers', async () => {
    await expect(start(UnauditedController)).rejects.toThrow(
      ': UnauditedController.list, UnauditedController.forCustomers, UnauditedController.open',
    );
  });

  it('refuses to start with a route of staff outside /staff', async () => {
    await expect(start(ElsewhereController)).rejects.toThrow(': ElsewhereController.list');
  });
});
