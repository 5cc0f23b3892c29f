import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Route } from '../auth';
import { UserInfo } from './user-info.dto';
import { UsersService } from './users.service';

@ApiTags('Profile')
@Controller()
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get('me')
  @Route({
    scope: 'profile:read',
    operationId: 'me_me_get',
    summary: 'Me',
    description: "The user's profile and balance.",
    response: UserInfo,
  })
  me(@CurrentUserId() userId: number): Promise<UserInfo> {
    return this.users.getProfile(userId);
  }
}
