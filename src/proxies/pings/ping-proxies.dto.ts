import { ApiProperty } from '@nestjs/swagger';
import { ApiNullable, StrictRequest } from '../../http';
import { BulkTargetRequest } from '../bulk-target/bulk-target.dto';

@StrictRequest()
export class PingProxiesRequest extends BulkTargetRequest {}

export class PingedProxy {
  @ApiProperty({ type: 'string', example: '17' })
  proxy_id!: string;

  @ApiNullable(
    'integer',
    'Time to open the TCP connection, in milliseconds. `null` if it could not be opened, or was not ' +
      'tried: `detail` contains the reason',
    12,
  )
  latency_ms!: number | null;

  @ApiNullable(
    'string',
    '`Proxy not found`: the user has no proxy with this id. `Not tried in time`: the 10 seconds ' +
      'ended before this proxy had its turn. `The service could not connect`: its own network or DNS ' +
      'may be at fault. Otherwise `null`',
    null,
  )
  detail!: string | null;
}

export class PingProxiesResponse {
  @ApiProperty({
    type: [PingedProxy],
    description: 'One result per proxy, in the order of `proxy_ids` or, for a filter, in the order of ids',
  })
  proxies!: readonly PingedProxy[];
}
