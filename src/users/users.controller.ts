import { Controller, Get } from '@nestjs/common';
import { ApiOkResponse, ApiOperation, ApiTags } from '@nestjs/swagger';
import { CurrentUserId, Scopes } from '../auth';
import { UserInfo } from './dto/user-info.dto';
import { UsersService } from './users.service';

@ApiTags('Profile')
@Controller()
export class UsersController {
  constructor(private readonly users: UsersService) {}

  @Get('me')
  @Scopes('profile:read')
  @ApiOperation({ operationId: 'me_me_get', summary: 'Me', description: "The user's profile and balance." })
  @ApiOkResponse({ description: 'Successful Response', type: UserInfo })
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
