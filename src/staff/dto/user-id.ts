import { ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse } from '../../common';

/** Without an example, which Swagger UI would fill in: nobody is to block user 42 by haste. */
export const ApiUserId = () =>
  ApiParam({ name: 'user_id', schema: { type: 'integer' }, description: 'Id of the user' });

export const ApiUserNotFound = () => ApiErrorResponse(404, 'There is no such user', 'User not found');
