import { Body, Controller, Get, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import { UserExists, UserNotFound } from '../../users';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, notFound, OF_A_COLLEAGUE, StaffRoute } from '../staff-route';
import { NewUserRequest, UserOut, UserProfile, UsersPage, UsersQuery } from './staff-users.dto';
import { StaffUsersService } from './staff-users.service';

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
      'For support, when somebody becomes a customer. The new user has an empty account: credit it and ' +
      'issue a token next.',
    status: 201,
    response: { description: 'The user', type: UserOut },
    errors: {
      409: [
        'Another user has this tg_id or web_username',
        new UserExists('tg_id'),
        new UserExists('web_username'),
      ],
    },
  })
  create(@CurrentAudit() audit: AuditContext, @Body() body: NewUserRequest): Promise<UserOut> {
    const { username, tg_id: tgId, web_username: webUsername, has_app: hasApp } = body;
    return this.users.create(audit, { username, tgId, webUsername, hasApp });
  }

  @Get()
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.search',
    summary: 'Find users',
    description:
      'For support, to find a user. `query` is a whole id, or a part of the username, ' +
      'telegram_username, web_username (case-insensitive) or tg_id. One or two characters match ' +
      'only the beginning. Without `query`, all users are listed. Newest first.',
    response: { description: 'A page of users, newest first', type: UsersPage },
  })
  search(@Query() query: UsersQuery): Promise<UsersPage> {
    return this.users.search(query.query, query);
  }

  @Get(':user_id')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.read',
    on: 'user',
    summary: 'Show a user',
    description:
      'For support: balance, held money, spending and open orders of a user, and whether the user ' +
      'is blocked.',
    response: { description: 'The user with their money', type: UserProfile },
    errors: { 404: notFound(UserNotFound) },
  })
  read(@IdParam('user_id') userId: number): Promise<UserProfile> {
    return this.users.getProfile(userId);
  }

  @Post(':user_id/block')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.block',
    on: 'user',
    summary: 'Block a user',
    description:
      'For support and investigations. From the next request on, all tokens of the user return 403 ' +
      '`User is blocked`. Open orders are still completed or refunded. Blocking a blocked user keeps ' +
      'the first time and replaces the reason.',
    response: { description: 'The user', type: UserOut },
    errors: { 403: OF_A_COLLEAGUE, 404: notFound(UserNotFound) },
  })
  block(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.users.setBlocked(audit, userId, reason, true);
  }

  @Post(':user_id/unblock')
  @StaffRoute({
    scope: 'staff:users',
    action: 'users.unblock',
    on: 'user',
    summary: 'Unblock a user',
    description:
      'For support, when the matter is resolved. The tokens of the user work again at once, ' +
      'except those that were revoked or have expired.',
    response: { description: 'The user', type: UserOut },
    errors: { 403: OF_A_COLLEAGUE, 404: notFound(UserNotFound) },
  })
  unblock(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.users.setBlocked(audit, userId, reason, false);
  }
}
