import { ApiProperty } from '@nestjs/swagger';
import { BooleanField, StringField } from '../../http';
import { ApiItems, ApiNextCursor, ApiNullable, IdField, PageQuery, PRINTABLE, TextField } from './fields';

export class NewUserRequest {
  @TextField()
  username!: string;

  @IdField({ optional: true })
  tg_id!: number | null;

  @TextField({ optional: true })
  web_username!: string | null;

  @BooleanField({ default: false })
  has_app!: boolean;
}

export class UsersQuery extends PageQuery {
  @ApiProperty({ description: 'A whole id, or a part of a username, web_username or tg_id' })
  @StringField({ optional: true, maxLength: 100, pattern: PRINTABLE })
  query!: string | null;
}

export class ReasonRequest {
  @TextField()
  reason!: string;
}

export class UserOut {
  @ApiProperty({ type: 'integer', example: 42 })
  id!: number;

  @ApiNullable('string', { description: 'Name on the messaging platform', example: 'boris' })
  username!: string | null;

  @ApiNullable('integer', { description: 'Number on the messaging platform', example: 123456789 })
  tg_id!: number | null;

  @ApiNullable('string', { description: 'Login on the website', example: 'boris@example.org' })
  web_username!: string | null;

  @ApiProperty({ type: 'boolean', example: false })
  has_app!: boolean;

  @ApiProperty({ type: 'string', format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  created_at!: Date;

  @ApiNullable('string', { format: 'date-time', description: 'Since when; null: not blocked', example: null })
  blocked_at!: Date | null;

  @ApiNullable('string', { example: null })
  blocked_reason!: string | null;
}

export class UsersPage {
  @ApiItems(() => UserOut)
  items!: readonly UserOut[];

  @ApiNextCursor()
  next_cursor!: number | null;
}

const ApiAmount = (description: string, example: string) =>
  ApiProperty({ type: 'string', description: `Roubles ${description}`, example });

export class UserProfile extends UserOut {
  @ApiAmount('that can be spent', '9924.76')
  balance!: string;

  @ApiAmount('held for orders whose outcome is open', '0.00')
  held!: string;

  @ApiAmount('spent since midnight, UTC, less what was refunded since', '25.08')
  spent_today!: string;

  @ApiAmount('spent in the last 30 days, less what was refunded in them', '75.24')
  spent_30_days!: string;

  @ApiAmount('spent ever, less what was refunded', '75.24')
  spent_total!: string;

  @ApiProperty({ type: 'integer', description: 'Orders whose outcome is open', example: 0 })
  open_orders!: number;

  @ApiNullable('string', { format: 'date-time', example: '2026-11-21T12:00:00.000Z' })
  last_order_at!: Date | null;
}
