export { Act } from './act';
export { StaffAction } from './staff-action.entity';
export { StaffModule } from './staff.module';
export { StaffBalanceService } from './staff-balance.service';
export { StaffPricesService, toPriceRuleRow } from './staff-prices.service';
export { StaffTokensService } from './staff-tokens.service';
export { StaffUsersService, toUserRow } from './staff-users.service';
