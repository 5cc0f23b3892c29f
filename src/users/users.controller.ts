import { Controller, Get } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../auth';
import type { UserInfo } from './dto/user-info.dto';
import { MeDocs } from './users.docs';
import { UsersService } from './users.service';

@ApiTags('Profile')
@Controller()
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get('me')
  @Scopes('profile:read')
  @MeDocs()
  async me(@CurrentUserId() userId: number): Promise<UserInfo> {
    const profile = await this.users.getProfile(userId);
    return {
      tg_id: profile.tgId,
      username: profile.username,
      web_username: profile.webUsername,
      balance: profile.balance,
      has_app: profile.hasApp,
    };
  }
}
