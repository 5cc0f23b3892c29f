import { ApiParam } from '@nestjs/swagger';
import { ApiErrorResponse } from '../../http';

/** Without an example, which Swagger UI would fill in: nobody is to block user 42 by haste. */
const ApiId = (of: string) =>
  ApiParam({ name: `${of}_id`, schema: { type: 'integer' }, description: `Id of the ${of}` });

export const ApiUserId = () => ApiId('user');
export const ApiTokenId = () => ApiId('token');
export const ApiOrderId = () => ApiId('order');
export const ApiOrphanId = () => ApiId('orphan');
export const ApiRuleId = () => ApiId('rule');

export const ApiUserNotFound = () => ApiErrorResponse(404, 'There is no such user', 'User not found');
