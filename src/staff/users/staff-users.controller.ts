import { Body, Controller, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { IdParam } from '../../http';
import type { AuditContext } from '../audit-log/audit-context';
import { ReasonRequest } from '../fields';
import { CurrentAudit, StaffRoute } from '../staff-route';
import {
  BlockUserDocs,
  CreateUserDocs,
  ReadUserDocs,
  SearchUsersDocs,
  UnblockUserDocs,
} from './staff-users.docs';
import {
  NewUserRequest,
  type UserOut,
  type UserProfile,
  type UsersPage,
  UsersQuery,
} from './staff-users.dto';
import { StaffUsersService } from './staff-users.service';

@ApiTags('Users')
@Controller('staff/users')
export class StaffUsersController {
  constructor(private readonly users: StaffUsersService) {}

  @Post()
  @CreateUserDocs()
  @StaffRoute({ scope: 'staff:users', action: 'users.create' })
  create(@CurrentAudit() audit: AuditContext, @Body() body: NewUserRequest): Promise<UserOut> {
    const { username, tg_id: tgId, web_username: webUsername, has_app: hasApp } = body;
    return this.users.create(audit, { username, tgId, webUsername, hasApp });
  }

  @Get()
  @SearchUsersDocs()
  @StaffRoute({ scope: 'staff:users', action: 'users.search' })
  search(@Query() query: UsersQuery): Promise<UsersPage> {
    return this.users.search(query.query, query);
  }

  @Get(':user_id')
  @ReadUserDocs()
  @StaffRoute({ scope: 'staff:users', action: 'users.read', on: 'user' })
  read(@IdParam('user_id') userId: number): Promise<UserProfile> {
    return this.users.getProfile(userId);
  }

  @Post(':user_id/block')
  @HttpCode(200)
  @BlockUserDocs()
  @StaffRoute({ scope: 'staff:users', action: 'users.block', on: 'user' })
  block(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.users.block(audit, userId, reason);
  }

  @Post(':user_id/unblock')
  @HttpCode(200)
  @UnblockUserDocs()
  @StaffRoute({ scope: 'staff:users', action: 'users.unblock', on: 'user' })
  unblock(
    @CurrentAudit() audit: AuditContext,
    @IdParam('user_id') userId: number,
    @Body() { reason }: ReasonRequest,
  ): Promise<UserOut> {
    return this.users.unblock(audit, userId, reason);
  }
}
