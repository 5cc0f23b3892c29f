import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** An order of a renewal is placed with the end that a sweep has confirmed; what is left of limits is one rule. */
export class OrdersOfRenewals1767400000000 implements InstallsFunctions {
  readonly functions = ['daily_limit_left', 'order_refusals', 'place_orders', 'place_renewals'];

  async up(runner: QueryRunner): Promise<void> {
    await installFunctions(runner, this);
  }

  down(): Promise<never> {
    throw new Error('Migrations go forward only.');
  }
}
