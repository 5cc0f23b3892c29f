import { INVALID_PERIOD, LIMIT_TOO_LARGE } from '../../http';
import { StaffDocs } from '../staff-docs';
import { ActionsPage } from './audit-log.dto';

export const SearchAuditLogDocs = () =>
  StaffDocs({
    summary: 'Search the audit log',
    description:
      'For supervisors and investigations: everything that staff changed or looked at, newest first, with ' +
      'who did it, from which address, and for changes the state before and after. `target` is for ' +
      'example `user:42`, `token:17` or `order:815`. `from` is included and `to` is not. What was ' +
      'changed is kept for good; what was looked at may be removed after a year (AUDIT_LOG_READ_DAYS).',
    answer: { description: 'A page of records, newest first', type: ActionsPage },
    errors: { 400: INVALID_PERIOD },
    invalid: LIMIT_TOO_LARGE,
  });
