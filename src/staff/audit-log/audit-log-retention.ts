import { Injectable } from '@nestjs/common';
import { AppConfig } from '../../config';
import { Retention } from '../../work';

/**
 * How long the audit log keeps reads. The service has no right to delete lines: a function of the owner does
 * it, and a trigger protects changes, and all lines of the last year.
 */
@Injectable()
export class AuditLogRetention {
  constructor(retention: Retention, config: AppConfig) {
    retention.addWalk(
      'staff_reads',
      config.retention.auditLogReadDays,
      'walked AS MATERIALIZED (SELECT removed, last FROM forget_staff_reads($1, $2, $3))',
    );
  }
}
