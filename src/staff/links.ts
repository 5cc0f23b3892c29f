import { ApiProperty } from '@nestjs/swagger';

/** The column with the name of a user, so that staff need not look up the id. */
export const usernameOf = (userId: string): string =>
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
}

export const userLinks = (id: number): UserLinks => ({
  user: `/staff/users/${id}`,
  orders: `/staff/orders?user_id=${id}`,
  ledger: `/staff/users/${id}/ledger`,
  tokens: `/staff/users/${id}/tokens`,
  deposits: `/staff/deposits?user_id=${id}`,
});

export const withUserLinks = <Found extends { readonly user_id: number }>(found: Found) => ({
  ...found,
  links: userLinks(found.user_id),
});

export class OrderLinks {
  @ApiLink('/staff/orders/815')
  order!: string;

  @ApiLink('/staff/users/42')
  user!: string;

  @ApiLink('/staff/users/42/ledger')
  ledger!: string;
}

export function withOrderLinks<Found extends { readonly id: number; readonly user_id: number }>(
  order: Found,
) {
  const { user, ledger } = userLinks(order.user_id);
  const links: OrderLinks = { order: `/staff/orders/${order.id}`, user, ledger };
  return { ...order, links };
}
