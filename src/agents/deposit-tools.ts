import { Injectable, Optional } from '@nestjs/common';
import { PageQuery, StrictRequest, StringField } from '../http';
import { DepositOut, DepositRequest, DepositsPage, DepositsService } from '../payments';
import { type Tool, tool } from './tool';

@StrictRequest()
class CreateDepositInput extends DepositRequest {
  @StringField({
    description:
      'A key of your choice, unique to each deposit. Calling again with the same key does not create a ' +
      'second deposit',
    example: 'deposit-1',
    maxLength: 100,
    pattern: '^[!-~]+$',
  })
  readonly key!: string;
}

@Injectable()
export class DepositTools {
  readonly tools: readonly Tool[];

  constructor(@Optional() deposits?: DepositsService) {
    this.tools = deposits ? toolsOf(deposits) : [];
  }
}

const toolsOf = (deposits: DepositsService): Tool[] => [
  tool({
    name: 'list_deposits',
    description: "Lists the user's deposits, newest first.",
    scope: 'deposits:read',
    input: PageQuery,
    output: DepositsPage,
    example: { limit: 10 },
    run: (page, { caller }) => deposits.list(caller.userId, page),
  }),
  tool({
    name: 'create_deposit',
    description:
      'Creates a deposit and returns its payment_url. Show this URL to the user, who pays the deposit ' +
      'there.',
    scope: 'deposits:write',
    input: CreateDepositInput,
    output: DepositOut,
    effect: 'adds',
    example: { amount: '500.00', key: 'deposit-1' },
    run: async ({ key, ...request }, { caller }) =>
      (await deposits.create(caller.userId, request, key)).deposit,
  }),
];
