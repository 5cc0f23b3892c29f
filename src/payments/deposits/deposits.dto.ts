import { type Money, readEmail } from '../../common';
import { AmountField, IntegerField, PageOf, InputMistake, StrictRequest, StringField } from '../../http';
import { DepositOut } from '../records/deposit.dto';

export const LONGEST_WAIT_SECONDS = 30;

@StrictRequest()
export class DepositRequest {
  @AmountField({
    description:
      "Amount to pay in, in roubles, within the operator's limits (by default, 100.00 to 100000.00)",
    example: '1000.00',
  })
  amount!: Money;

  @StringField({
    description:
      'The e-mail address to which the fiscal receipt is sent, if the operator requests receipts. A ' +
      'Cyrillic domain is converted to ASCII. Defaults to the address of your last deposit or, if ' +
      "there is none, to the operator's address",
    example: 'customer@example.com',
    maxLength: 254,
    absent: 'null',
    refine: (text) => {
      const read = readEmail(text);
      if ('email' in read) return read.email;
      return new InputMistake('value_error', `Value error, ${read.mistake}`, text, { error: read.mistake });
    },
  })
  receipt_email!: string | null;
}

@StrictRequest()
export class DepositQuery {
  @IntegerField({
    description:
      'How many seconds to wait while the deposit is `pending`. The response is sent as soon as the ' +
      'deposit has ended, or, once this time is over, with the current state',
    example: 30,
    atLeast: 0,
    atMost: LONGEST_WAIT_SECONDS,
    default: 0,
  })
  wait!: number;
}

export class DepositsPage extends PageOf(DepositOut) {}
