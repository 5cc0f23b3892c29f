import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Clock } from '../../common';
import { toPage } from '../../http';
import {
  InvalidSalesCursor,
  InvalidSalesPeriod,
  SALES_DIMENSIONS,
  type SalesRowOut,
  SalesService,
} from '../../ledger';
import { StatusOut, StatusService } from '../../status';
import {
  DatabaseWasRestored,
  MaintenanceNotOver,
  MaintenanceOut,
  MissingProxiesChanged,
  MissingProxiesOut,
  NotInMaintenance,
} from '../../sync';
import type { AuditContext } from '../audit-log/audit-context';
import { CurrentAudit, StaffRoute } from '../staff-route';
import {
  EndMaintenanceRequest,
  SalesPage,
  SalesQuery,
  WithdrawMissingProxiesRequest,
} from './staff-system.dto';
import { StaffSystemService } from './staff-system.service';

@ApiTags('System')
@Controller('staff')
export class StaffSystemController {
  constructor(
    private readonly status: StatusService,
    private readonly sales: SalesService,
    private readonly system: StaffSystemService,
    private readonly clock: Clock,
  ) {}

  @Get('status')
  @StaffRoute({
    scope: 'staff:system',
    action: 'status.read',
    summary: 'Show the state of the service',
    description:
      'For operators: our balance at the provider and how long it will last at the current rate, open ' +
      'orders and those that await a decision by staff, the age of the catalog, the last run of each ' +
      'job, and the circuit breakers and queues of each replica.',
    response: { description: 'The current state', type: StatusOut },
  })
  readStatus(): Promise<StatusOut> {
    return this.status.read();
  }

  @Get('sales')
  @StaffRoute({
    scope: 'staff:system',
    action: 'sales.read',
    summary: 'Show sales, cost and margin',
    description:
      'For accounting and pricing: sales, refunds, cost and margin, grouped by any of day, country and ' +
      'version. An order counts towards the day (UTC) on which it was closed, a refund towards the day ' +
      'on which it was made. Both days are inclusive; a period can have at most 366 days. Sums are ' +
      'sorted by day, latest first, then by country and version. Days without sales and refunds are ' +
      'omitted.',
    response: { description: 'A page of sums, with the total for the whole period', type: SalesPage },
    errors: { 400: ['The period or the cursor is invalid', InvalidSalesPeriod, InvalidSalesCursor] },
  })
  async readSales(@Query() query: SalesQuery): Promise<SalesPage> {
    const { by, cursor, limit } = query;
    const to = query.to ?? this.clock.now().toISOString().slice(0, 10);
    const from = query.from ?? to;
    const dimensions = SALES_DIMENSIONS.filter((dimension) => by.split(',').includes(dimension));
    const page = { after: cursor?.split('/') ?? [], limit: limit + 1 };
    const { total, rows } = await this.sales.read({ from, to, by: dimensions }, page);
    const cursorOf = (row: SalesRowOut) => dimensions.map((dimension) => row[dimension]).join('/');
    return { total, ...toPage(rows, limit, cursorOf) };
  }

  @Get('missing-proxies')
  @StaffRoute({
    scope: 'staff:system',
    action: 'missing.read',
    summary: 'Show how many proxies are missing',
    description:
      'For operators: rented proxies that were missing from two consecutive listings, but are too many ' +
      'at once to be plausible. They stay active until they are withdrawn here, or until few enough ' +
      'are missing. A proxy that the provider lists again is no longer missing.',
    response: { description: 'The effect of a withdrawal', type: MissingProxiesOut },
  })
  readMissing(): Promise<MissingProxiesOut> {
    return this.system.countMissing();
  }

  @Post('missing-proxies/withdraw')
  @StaffRoute({
    scope: 'staff:system',
    action: 'missing.withdraw',
    summary: 'Withdraw the missing proxies',
    description:
      'For operators, when the provider no longer has these proxies: marks them as inactive until the ' +
      'provider lists them again. Nothing is refunded. `proxies` is the number that was shown; if the ' +
      'number of missing proxies has changed, nothing is changed.',
    response: { description: 'The withdrawn proxies', type: MissingProxiesOut },
    errors: { 409: ['Nothing was changed', MissingProxiesChanged] },
  })
  withdraw(
    @CurrentAudit() audit: AuditContext,
    @Body() { proxies, reason }: WithdrawMissingProxiesRequest,
  ): Promise<MissingProxiesOut> {
    return this.system.withdrawMissing(audit, proxies, reason);
  }

  @Get('maintenance')
  @StaffRoute({
    scope: 'staff:system',
    action: 'maintenance.read',
    summary: 'Show whether the service is closed for maintenance',
    description:
      'For operators, after the database was restored to an earlier point in time: whether the service ' +
      'is closed for maintenance and accepts no orders, and what remains to be done before it can be ' +
      'opened. `cli maintenance begin` closes it, and so does a startup on a PostgreSQL server or ' +
      'timeline other than the last one.',
    response: { description: 'The maintenance, or none', type: MaintenanceOut },
  })
  readMaintenance(): Promise<MaintenanceOut> {
    return this.system.showMaintenance();
  }

  @Post('maintenance/end')
  @StaffRoute({
    scope: 'staff:system',
    action: 'maintenance.end',
    summary: 'End the maintenance and accept orders',
    description:
      'For operators, when all sales after the restore point have been found and decided. Refused ' +
      'until then, unless the service itself began the maintenance at startup and nothing was lost.',
    response: { description: 'The service is open', type: MaintenanceOut },
    errors: {
      409: [
        'Nothing was changed',
        NotInMaintenance,
        DatabaseWasRestored,
        new MaintenanceNotOver(['no sweep has been complete yet', '2 unmatched proxies are undecided']),
      ],
    },
  })
  endMaintenance(
    @CurrentAudit() audit: AuditContext,
    @Body() request: EndMaintenanceRequest,
  ): Promise<MaintenanceOut> {
    return this.system.endMaintenance(audit, request);
  }
}
