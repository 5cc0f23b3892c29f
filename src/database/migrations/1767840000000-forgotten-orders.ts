import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** The orders whose keys a restore has forgotten are found by one function, before and after a refusal. */
export class ForgottenOrders1767840000000 implements InstallsFunctions {
  readonly functions = ['forgotten_orders', 'place_orders'];

  up(runner: QueryRunner): Promise<void> {
    return installFunctions(runner, this);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
