export { Act } from './act';
export { StaffAction } from './staff-action.entity';
export { StaffLog } from './staff-log';
export { StaffModule } from './staff.module';
