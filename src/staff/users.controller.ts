import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiBody, ApiCreatedResponse, ApiOkResponse, ApiTags } from '@nestjs/swagger';
import { ApiErrorResponse, ApiValidationErrorResponse, IdParam } from '../http';
import type { Act } from './act';
import { ApiLimitErrorResponse, type Page, toPage } from './dto/fields';
import { ApiUserId, ApiUserNotFound } from './dto/path-ids';
import { NewUserRequest, ReasonRequest, UserOut, UserProfile, UsersPage, UsersQuery } from './dto/user.dto';
import { CurrentAct, StaffRoute } from './staff-route';
import { StaffUsersService, type UserProfileRow, type UserRow } from './staff-users.service';

const ON_USER = ['user', 'user_id'] as const;
const ApiReasonMissing = () =>
  ApiValidationErrorResponse({ type: 'missing', loc: ['body', 'reason'], msg: 'Field required', input: {} });

@ApiTags('Users')
@Controller('staff/users')
export class StaffUsersController {
  constructor(private readonly users: StaffUsersService) {}

  @Post()
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.create',
    summary: 'Create a user',
    description:
      'For support, when somebody becomes a customer: the user has an account with nothing on it. Credit it and issue a token next.',
  })
  @ApiBody({
    type: NewUserRequest,
    examples: {
      full: {
        value: { username: 'boris', tg_id: 123456789, web_username: 'boris@example.org', has_app: false },
      },
      least: { value: { username: 'boris' } },
    },
  })
  @ApiCreatedResponse({ description: 'The user', type: UserOut })
  @ApiErrorResponse(
    409,
    'Another user has it',
    'A user with this tg_id exists',
    'A user with this web_username exists',
  )
  @ApiValidationErrorResponse({
    type: 'missing',
    loc: ['body', 'username'],
    msg: 'Field required',
    input: {},
  })
  create(@CurrentAct() act: Act, @Body() body: NewUserRequest): Promise<UserRow> {
    const { username, tg_id: tgId, web_username: webUsername, has_app: hasApp } = body;
    return this.users.create(act, { username, tgId, webUsername, hasApp });
  }

  @Get()
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.search',
    summary: 'Find users',
    description:
      'For support, to find who is asking: by a whole id, or by a part of the username, the web_username (in any case) or the tg_id. ' +
      'A part of one or two characters counts at the beginning alone. Without `query`: all users. Newest first.',
  })
  @ApiOkResponse({ description: 'A page of users, newest first', type: UsersPage })
  @ApiLimitErrorResponse()
  async search(@Query() { query, cursor, limit }: UsersQuery): Promise<Page<UserRow>> {
    return toPage(await this.users.search(query, { cursor, limit: limit + 1 }), limit, ({ id }) => id);
  }

  @Get(':user_id')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.read',
    on: ON_USER,
    summary: 'A user',
    description:
      'For support, to see at a glance who somebody is: balance, held money, spending, open orders, whether blocked.',
  })
  @ApiUserId()
  @ApiOkResponse({ description: 'The user with their money', type: UserProfile })
  @ApiUserNotFound()
  @ApiValidationErrorResponse({
    type: 'int_parsing',
    loc: ['path', 'user_id'],
    msg: 'Input should be a valid integer, unable to parse string as an integer',
    input: 'boris',
  })
  get(@IdParam('user_id') userId: number): Promise<UserProfileRow> {
    return this.users.getProfile(userId);
  }

  @Post(':user_id/block')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.block',
    on: ON_USER,
    summary: 'Block a user',
    description:
      'For support and investigations: from the next request on, all tokens of the user are answered 403 `User is blocked`. Orders under way are ' +
      'brought to their end. Who is blocked already stays so since the first moment, with the new reason.',
  })
  @ApiUserId()
  @ApiBody({
    type: ReasonRequest,
    examples: { fraud: { value: { reason: 'Card reported stolen, ticket 815' } } },
  })
  @ApiOkResponse({ description: 'The user', type: UserOut })
  @ApiUserNotFound()
  @ApiReasonMissing()
  block(
    @CurrentAct() act: Act,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserRow> {
    return this.users.block(act, userId, reason);
  }

  @Post(':user_id/unblock')
  @HttpCode(200)
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.unblock',
    on: ON_USER,
    summary: 'Unblock a user',
    description:
      'For support, when the matter is settled: the tokens of the user that are neither revoked nor expired work again at once.',
  })
  @ApiUserId()
  @ApiBody({ type: ReasonRequest, examples: { settled: { value: { reason: 'Settled, ticket 815' } } } })
  @ApiOkResponse({ description: 'The user', type: UserOut })
  @ApiUserNotFound()
  @ApiReasonMissing()
  unblock(
    @CurrentAct() act: Act,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserRow> {
    return this.users.unblock(act, userId, reason);
  }
}
