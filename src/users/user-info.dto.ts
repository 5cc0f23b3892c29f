import { ApiProperty } from '@nestjs/swagger';

export class UserInfo {
  @ApiProperty({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    title: 'Tg Id',
    description: 'User number on the messaging platform',
    example: 123456789,
  })
  tg_id!: number | null;

  @ApiProperty({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    title: 'Username',
    description: 'User name on the messaging platform',
    example: 'demo',
  })
  username!: string | null;

  @ApiProperty({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    title: 'Web Username',
    description: 'Login on the website',
    example: null,
  })
  web_username!: string | null;

  @ApiProperty({
    type: 'string',
    title: 'Balance',
    description: 'Available balance, in roubles',
    example: '10000.00',
  })
  balance!: string;

  @ApiProperty({
    type: 'boolean',
    required: false,
    title: 'Has App',
    description: 'Whether the user has ever opened the companion application',
    example: false,
  })
  has_app!: boolean;
}
