import { BooleanField } from '../../http';
import { ReasonRequest } from '../fields';

export class EndRecoveryRequest extends ReasonRequest {
  @BooleanField({
    description:
      'Ends a precaution although not everything is decided: the database was not restored to an earlier ' +
      'moment, but moved to another server, or failed over',
    default: false,
  })
  nothing_was_lost!: boolean;
}
