import { ApiTitled } from '../../http';

export class PingResponse {
  @ApiTitled({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    description: 'Milliseconds until the TCP connection was open; null when it could not be opened',
    example: 12,
  })
  latency_ms!: number | null;
}
