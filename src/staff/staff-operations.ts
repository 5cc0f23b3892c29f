import type { Type } from '@nestjs/common';
import { AUDITED_ROUTE, type AuditedRoute } from './audit-log/audit-log.interceptor';
import { StaffPaymentsModule } from './payments/staff-payments.module';
import { StaffModule } from './staff.module';

type Handler = (...parameters: unknown[]) => unknown;

interface Described {
  readonly summary: string;
  readonly description: string;
}

/** Staff route that the command line can also run. */
export interface StaffOperation extends AuditedRoute, Described {
  readonly controller: Type<object>;
  readonly handler: Handler;
}

/** Key under which `@nestjs/swagger` stores its metadata. */
const DESCRIPTION = 'swagger/apiOperation';

export const STAFF_OPERATIONS: ReadonlyMap<string, StaffOperation> = new Map(
  [StaffModule, StaffPaymentsModule]
    .flatMap((module) => Reflect.getMetadata('controllers', module) as Type<object>[])
    .flatMap((controller) =>
      Object.values(Object.getOwnPropertyDescriptors(controller.prototype)).flatMap(({ value }) => {
        const route =
          value && (Reflect.getMetadata(AUDITED_ROUTE, value as object) as AuditedRoute | undefined);
        if (!route) return [];
        const handler = value as Handler;
        const { summary, description } = Reflect.getMetadata(DESCRIPTION, handler) as Described;
        return [[route.action, { ...route, summary, description, controller, handler }] as const];
      }),
    ),
);
