import { StrictRequest, TextField } from '../http';

@StrictRequest()
export class ReasonRequest {
  @TextField({ description: 'Stored in the audit log' })
  reason!: string;
}
