export { DepositRequest, DepositsPage } from './deposits/deposits.dto';
export { DepositNotFound } from './deposits/deposits.errors';
export { DepositsService } from './deposits/deposits.service';
export { PaymentsModule } from './payments.module';
export { PaymentError, PaymentProvider } from './provider/payment-provider';
export {
  DEPOSIT_STATES,
  DepositOut,
  DepositRefundOut,
  type DepositState,
  RECEIPT_STATES,
  type ReceiptState,
  DEPOSIT_REFUND_STATES,
  type DepositRefundState,
  StaffDepositOut,
} from './records/deposit.dto';
export { PAYMENT_STATES, type PaymentState, StaffPaymentOut } from './records/payment.dto';
export { UNDECIDED_REASONS, WAITING_PAYMENTS } from './records/waiting-payments';
export {
  DepositChargedBack,
  DepositNotPaid,
  DepositRefunds,
  DepositRefundTooLarge,
  DepositRefundDecided,
  DepositRefundNotFound,
} from './staff/deposit-refunds';
export {
  AmountKnown,
  AmountNeeded,
  AmountTooLarge,
  PaymentDecided,
  PaymentNotFound,
  PaymentOfAnother,
  UnmatchedPayments,
} from './staff/unmatched-payments';
export { PAYMENTS_DATA } from './personal-data';
