import { StrictRequest, TextField } from '../http';

/** The reason for a change, which the audit log keeps. */
@StrictRequest()
export class ReasonRequest {
  @TextField({ description: 'Kept in the audit log' })
  reason!: string;
}
