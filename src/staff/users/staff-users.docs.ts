import { LIMIT_TOO_LARGE, missing, notAnInteger } from '../../http';
import { ReasonRequest } from '../fields';
import { notFound, StaffDocs } from '../staff-docs';
import { NewUserRequest, UserOut, UserProfile, UsersPage } from './staff-users.dto';

export const CreateUserDocs = () =>
  StaffDocs({
    summary: 'Create a user',
    description:
      'For support, when somebody becomes a customer. The new user has an empty account: credit it and ' +
      'issue a token next.',
    body: NewUserRequest,
    status: 201,
    answer: { description: 'The user', type: UserOut },
    errors: {
      409: [
        'Another user has this tg_id or web_username',
        'A user with this tg_id exists',
        'A user with this web_username exists',
      ],
    },
    invalid: missing('body', 'username'),
  });

export const SearchUsersDocs = () =>
  StaffDocs({
    summary: 'Find users',
    description:
      'For support, to find the user who is asking. `query` is a whole id, or a part of the username, of ' +
      'the telegram_username or the web_username (in any case) or of the tg_id. One or two characters ' +
      'match at the beginning only. Without `query`, all users are listed. Newest first.',
    answer: { description: 'A page of users, newest first', type: UsersPage },
    invalid: LIMIT_TOO_LARGE,
  });

export const ReadUserDocs = () =>
  StaffDocs({
    summary: 'Show a user',
    description:
      'For support, to see a user at a glance: the balance, the held money, the spending, the open ' +
      'orders, and whether the user is blocked.',
    answer: { description: 'The user with their money', type: UserProfile },
    errors: { 404: notFound('user') },
    invalid: notAnInteger('user_id', 'boris'),
  });

export const BlockUserDocs = () =>
  StaffDocs({
    summary: 'Block a user',
    description:
      'For support and investigations. From the next request on, all tokens of the user are answered with ' +
      '403 `User is blocked`. Open orders are still completed or refunded. Blocking a blocked user keeps ' +
      'the first time and replaces the reason.',
    body: ReasonRequest,
    answer: { description: 'The user', type: UserOut },
    errors: { 404: notFound('user') },
    invalid: missing('body', 'reason'),
  });

export const UnblockUserDocs = () =>
  StaffDocs({
    summary: 'Unblock a user',
    description:
      'For support, when the matter is settled. The tokens of the user work again at once, except those ' +
      'that were revoked or have expired.',
    body: ReasonRequest,
    answer: { description: 'The user', type: UserOut },
    errors: { 404: notFound('user') },
    invalid: missing('body', 'reason'),
  });
