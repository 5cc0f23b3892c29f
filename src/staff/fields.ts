import { StrictRequest, TextField } from '../http';

/** Reason for a change, for the audit log. */
@StrictRequest()
export class ReasonRequest {
  @TextField({ description: 'Stored in the audit log' })
  reason!: string;
}
