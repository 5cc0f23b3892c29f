import { ApiProperty } from '@nestjs/swagger';

export class PingResponse {
  @ApiProperty({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    title: 'Latency Ms',
    description: 'Milliseconds until the TCP connection was open; null when it could not be opened',
    example: 12,
  })
  latency_ms!: number | null;
}
