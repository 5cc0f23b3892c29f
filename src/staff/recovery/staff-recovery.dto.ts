import { StrictRequest, TextField } from '../../http';

@StrictRequest()
export class EndRecoveryRequest {
  @TextField()
  reason!: string;
}
