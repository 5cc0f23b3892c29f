export { RefundRuleOut, StaffRefundRuleOut } from './dto/refund-rule.dto';
export {
  REFUND_STATES,
  RefundOut,
  RefundQuery,
  RefundSharesOut,
  type RefundState,
  StaffRefundOut,
} from './dto/refund.dto';
export { RefundNotFound, RefundNotForStaff, RefundWaits } from './refunds.errors';
export { RefundsModule } from './refunds.module';
export { RefundsService } from './refunds.service';
export { RefundRecords } from './refund-records';
export { type RefundRule, RefundRules } from './refund-rules';
export { StaffRefunds, type StaffRefundFilter } from './staff-refunds';
