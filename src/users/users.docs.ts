import { applyDecorators } from '@nestjs/common';
import { ApiOkResponse, ApiOperation } from '@nestjs/swagger';
import { UserInfo } from './dto/user-info.dto';

export const MeDocs = () =>
  applyDecorators(
    ApiOperation({ operationId: 'me_me_get', summary: 'Me', description: "The user's profile and balance." }),
    ApiOkResponse({ description: 'Successful Response', type: UserInfo }),
  );
