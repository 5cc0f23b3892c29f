import { BooleanField, StrictRequest } from '../../http';

@StrictRequest()
export class RevokeTokenQuery {
  @BooleanField({ description: 'Whether the tokens that it issued are revoked with it', default: false })
  descendants!: boolean;
}
