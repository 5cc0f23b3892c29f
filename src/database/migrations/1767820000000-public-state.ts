import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** The function of the state that customers see is called `public_state`, as in the code. */
export class PublicState1767820000000 implements InstallsFunctions {
  readonly functions = ['public_state', 'log_order_event'];
  readonly removedFunctions = ['told_state'];

  async up(runner: QueryRunner): Promise<void> {
    await installFunctions(runner, this);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
