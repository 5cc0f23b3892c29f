import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** A prolongation that was refunded without proof may have its effect later: no sweep confirms its end. */
export class LateProlongations1767500000000 implements InstallsFunctions {
  readonly functions = ['end_confirmed_at'];

  up(runner: QueryRunner): Promise<void> {
    return installFunctions(runner, this);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
