export { RefundRuleOut, StaffRefundRuleOut } from './dto/refund-rule.dto';
export {
  REFUND_STATES,
  RefundOut,
  RefundQuery,
  RefundSharesOut,
  type ProxyRefundState,
  StaffRefundOut,
} from './dto/refund.dto';
export { ProxyRefundNotFound, RefundNotForStaff, RefundWaits } from './refunds.errors';
export { ProxyRefundsModule } from './refunds.module';
export { ProxyRefundsService } from './refunds.service';
export { ProxyRefundRecords } from './refund-records';
export { type RefundRule, RefundRules } from './refund-rules';
export { StaffRefunds, type StaffRefundFilter } from './staff-refunds';
