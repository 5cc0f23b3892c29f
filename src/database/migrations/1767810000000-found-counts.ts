import type { QueryRunner } from 'typeorm';
import { installFunctions, type InstallsFunctions } from '../install-functions';

/** A retry finds an order that was put back with fewer proxies only up to the number that was found of it. */
export class FoundCounts1767810000000 implements InstallsFunctions {
  readonly functions = ['place_orders'];

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      -- Of an order whose key is forgotten: how many proxies it was for, at most, because so many were found.
      -- Null: as many as it has.
      ALTER TABLE orders ADD COLUMN found_count integer`);
    await installFunctions(runner, this);
  }

  async down(): Promise<void> {
    throw new Error('Migrations go forward only.');
  }
}
