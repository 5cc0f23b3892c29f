import { ApiTitled } from '../http';

export class UserInfo {
  @ApiTitled({
    required: false,
    anyOf: [{ type: 'integer' }, { type: 'null' }],
    description: 'User number on the messaging platform',
    example: 123456789,
  })
  tg_id!: number | null;

  @ApiTitled({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    description: 'User name on the messaging platform',
    example: 'demo',
  })
  username!: string | null;

  @ApiTitled({
    required: false,
    anyOf: [{ type: 'string' }, { type: 'null' }],
    description: 'Login on the website',
    example: null,
  })
  web_username!: string | null;

  @ApiTitled({ type: 'string', description: 'Available balance, in roubles', example: '10000.00' })
  balance!: string;

  @ApiTitled({
    type: 'boolean',
    required: false,
    description: 'Whether the user has ever opened the companion application',
    example: false,
  })
  has_app!: boolean;
}
