import { ApiTitled } from '../../http';

export class PingResponse {
  @ApiTitled({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    description: 'Time to open the TCP connection, in milliseconds; null if it could not be opened',
    example: 12,
  })
  latency_ms!: number | null;
}
