import { ApiProperty } from '@nestjs/swagger';
import { Money } from '../common';
import { ApiNullable } from '../http';

export const usernameSql = (userId: string): string =>
  `(SELECT coalesce(username, web_username) FROM users WHERE users.id = ${userId})`;

const ApiLink = (example: string): PropertyDecorator =>
  ApiProperty({ type: 'string', format: 'uri-reference', example });

export class UserLinks {
  @ApiLink('/staff/users/42')
  user!: string;

  @ApiLink('/staff/orders?user_id=42')
  orders!: string;

  @ApiLink('/staff/users/42/ledger')
  ledger!: string;

  @ApiLink('/staff/users/42/tokens')
  tokens!: string;

  @ApiLink('/staff/deposits?user_id=42')
  deposits!: string;

  @ApiLink('/staff/users/42/credit?amount=')
  credit!: string;
}

export const userLinks = (id: number): UserLinks => ({
  user: `/staff/users/${id}`,
  orders: `/staff/orders?user_id=${id}`,
  ledger: `/staff/users/${id}/ledger`,
  tokens: `/staff/users/${id}/tokens`,
  deposits: `/staff/deposits?user_id=${id}`,
  credit: `/staff/users/${id}/credit?amount=`,
});

export const withUserLinks = <Found extends { readonly user_id: number }>(found: Found) => ({
  ...found,
  links: userLinks(found.user_id),
});

const ApiRefundLink = (example: string): PropertyDecorator =>
  ApiNullable(
    'string',
    'A URL that opens the refund form on the documentation page, prefilled with this amount',
    example,
  );

export const refundLink = (
  things: 'orders' | 'deposits',
  { id, refundable }: { readonly id: number; readonly refundable: string },
): string | null =>
  Money.parse(refundable).isPositive() ? `/staff/${things}/${id}/refund?amount=${refundable}` : null;

export class DepositLinks {
  @ApiLink('/staff/users/42')
  user!: string;

  @ApiRefundLink('/staff/deposits/12/refund?amount=1000.00')
  refund!: string | null;
}

export class OrderLinks {
  @ApiLink('/staff/orders/815')
  order!: string;

  @ApiLink('/staff/users/42')
  user!: string;

  @ApiLink('/staff/users/42/ledger')
  ledger!: string;

  @ApiRefundLink('/staff/orders/815/refund?amount=50.16')
  refund!: string | null;
}
