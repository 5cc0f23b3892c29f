export { Act, type Target } from './act';
export { ORDER_KINDS, ORDER_STATES } from './dto/order.dto';
export { StaffAction } from './staff-action.entity';
export { StaffModule } from './staff.module';
export { StaffBalanceService } from './staff-balance.service';
export { StaffLog } from './staff-log';
export { type OrderFilter, StaffOrdersService } from './staff-orders.service';
export { StaffTokensService } from './staff-tokens.service';
export { StaffUsersService } from './staff-users.service';
