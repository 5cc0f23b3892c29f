export type { User } from './user';
export { UserInfo } from './user-info.dto';
export { UserExists, UserNotFound } from './users.errors';
export { UsersModule } from './users.module';
export { UsersService, type NewUser } from './users.service';
export { SignInModule } from './sign-in/sign-in.module';
export { USERS_DATA } from './personal-data';
