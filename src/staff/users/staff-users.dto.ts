import { ApiProperty } from '@nestjs/swagger';
import { ERASURE_EFFECTS, type RowsOfUser } from '../../database';
import {
  ApiBoolean,
  ApiChoice,
  ApiInteger,
  ApiListOf,
  ApiMoment,
  ApiNullable,
  ApiNullableMoment,
  ApiRoubles,
  ApiText,
  ApiTexts,
  BooleanField,
  IdField,
  IntegerField,
  PageOf,
  PageQuery,
  SearchField,
  StrictRequest,
  TextField,
} from '../../http';
import { ReasonRequest } from '../fields';
import { UserLinks } from '../links';

@StrictRequest()
export class NewUserRequest {
  @TextField({ description: 'The name that staff use for the user', example: 'boris' })
  username!: string;

  @IdField({ description: "The user's id on the messaging platform", absent: 'null' })
  tg_id!: number | null;

  @TextField({ description: 'The login on the website', absent: 'null' })
  web_username!: string | null;

  @BooleanField({ description: 'Whether the user has opened the companion application', default: false })
  has_app!: boolean;
}

export class UsersQuery extends PageQuery {
  @SearchField({
    description: 'A complete id, or part of a username, telegram_username, web_username or tg_id',
  })
  query!: string | null;
}

export class UserOut {
  @ApiProperty({ type: 'integer', example: 42 })
  id!: number;

  @ApiNullable('string', 'The name that staff use for the user', 'boris')
  username!: string | null;

  @ApiNullable(
    'string',
    "The user's name on Telegram at the last sign-in. Users can choose any name",
    'boris_1990',
  )
  telegram_username!: string | null;

  @ApiNullable('integer', "The user's id on the messaging platform", 123456789)
  tg_id!: number | null;

  @ApiNullable('string', 'The login on the website', 'boris@example.org')
  web_username!: string | null;

  @ApiBoolean('Whether the user has ever opened the companion application', false)
  has_app!: boolean;

  @ApiMoment()
  created_at!: Date;

  @ApiNullableMoment('When the user was blocked. `null` if the user is not blocked', null)
  blocked_at!: Date | null;

  @ApiNullable('string', { example: null })
  blocked_reason!: string | null;

  @ApiNullableMoment("When the user's data was erased", null)
  deleted_at!: Date | null;

  @ApiProperty({ type: UserLinks })
  links!: UserLinks;
}

export class ErasureRequest extends ReasonRequest {
  @IntegerField({
    description: 'The number of running proxies that the dry run showed. If omitted, this is a dry run',
    absent: 'null',
    atLeast: 0,
    atMost: Number.MAX_SAFE_INTEGER,
  })
  running_proxies!: number | null;
}

export class ErasedRowsOut implements RowsOfUser {
  @ApiText('The table', 'webhooks')
  table!: string;

  @ApiChoice(
    ERASURE_EFFECTS,
    'The effect on the rows. `cleared` rows are kept without personal data',
    'cleared',
  )
  effect!: RowsOfUser['effect'];

  @ApiInteger('The number of rows', 2)
  rows!: number;
}

export class ErasureOut {
  @ApiBoolean('Whether this was a dry run, which changes nothing', true)
  dry_run!: boolean;

  @ApiInteger('Proxies whose rentals are still running. The user loses them without a refund', 0)
  running_proxies!: number;

  @ApiTexts(
    'Matters that must be settled first: `balance`, `orders`, `deposits`, `deposit-refunds`, ' +
      '`refunds`; `staff` if the user has acted as staff, or has a token with staff scopes that is not ' +
      'revoked',
    [],
  )
  open!: readonly string[];

  @ApiListOf(() => ErasedRowsOut, "The user's rows in each table")
  data!: readonly ErasedRowsOut[];
}

export class FoundUser extends UserOut {
  @ApiProperty({
    type: 'array',
    items: { type: 'string', format: 'uri-reference' },
    description:
      'A warning: up to ten other users whose names could be confused with a name of this user, ' +
      'ignoring case',
    example: [],
  })
  same_name_as!: string[];

  @ApiRoubles('Available balance, in roubles', '9924.76')
  balance!: string;

  @ApiRoubles('Amount held for open orders, in roubles', '0.00')
  held!: string;

  @ApiNullableMoment('When the last order was placed')
  last_order_at!: Date | null;
}

export class UsersPage extends PageOf(FoundUser) {}

export class UserProfile extends FoundUser {
  @ApiRoubles('Roubles spent since midnight UTC, net of refunds since then', '25.08')
  spent_today!: string;

  @ApiRoubles('Roubles spent in the last 30 days, net of refunds in that period', '75.24')
  spent_30_days!: string;

  @ApiRoubles('Total roubles spent, net of refunds', '75.24')
  spent_total!: string;

  @ApiInteger('Orders whose outcome is not known yet', 0)
  open_orders!: number;
}
