export { DepositNotFound } from './deposits/deposits.errors';
export { PaymentsModule } from './payments.module';
export { PaymentProvider } from './provider/payment-provider';
export { DEPOSIT_STATES, type DepositState } from './records/deposit-records';
export { UNMATCHED_REASONS, type UnmatchedReason } from './records/payment-records';
export { UNDECIDED_REASONS, WAITING_PAYMENTS } from './records/waiting-payments';
export { type DepositRefund, REFUND_STATES, type RefundState } from './records/refund-records';
export {
  type DepositFilter,
  DepositNotPaid,
  DepositRefunds,
  DepositRefundTooLarge,
  RefundDecided,
  RefundNotFound,
  type StaffDeposit,
} from './staff/deposit-refunds';
export {
  AmountKnown,
  AmountNeeded,
  PAYMENT_STATES,
  PaymentDecided,
  PaymentNotFound,
  PaymentOfAnother,
  type PaymentState,
  type StaffPayment,
  UnmatchedPayments,
} from './staff/unmatched-payments';
