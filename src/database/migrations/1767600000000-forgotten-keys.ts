import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** A retry finds an order that was put back after a restore also when staff gave it fewer proxies. */
export class ForgottenKeys1767600000000 implements InstallsFunctions {
  readonly functions = ['place_orders'];

  up(runner: QueryRunner): Promise<void> {
    return installFunctions(runner, this);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
