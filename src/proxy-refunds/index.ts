export { RefundRuleOut, StaffRefundRuleOut } from './dto/refund-rule.dto';
export {
  PROXY_REFUND_STATES,
  ProxyRefundOut,
  ProxyRefundQuery,
  RefundSharesOut,
  type ProxyRefundState,
  StaffRefundOut,
} from './dto/refund.dto';
export { ProxyRefundNotFound, RefundNotForStaff, RefundWaits } from './proxy-refunds.errors';
export { ProxyRefundsModule } from './proxy-refunds.module';
export { ProxyRefundsService } from './proxy-refunds.service';
export { ProxyRefundRecords } from './proxy-refund-records';
export { type RefundRule, RefundRules } from './refund-rules';
export { StaffRefunds, type StaffRefundFilter } from './staff-refunds';
