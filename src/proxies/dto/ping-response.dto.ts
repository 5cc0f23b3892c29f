import { ApiProperty } from '@nestjs/swagger';

export class PingResponse {
  @ApiProperty({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    title: 'Latency Ms',
    description: 'Milliseconds to a TCP connection; null when there was none',
    example: 12,
  })
  latency_ms!: number | null;
}
