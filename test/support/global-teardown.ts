import { shared } from '../jest/shared';
import { tearDown } from './global-setup';

export default async function globalTeardown(): Promise<void> {
  // Started when the tests ran in this process and not in workers.
  await shared.close?.();
  await (await shared.admin)?.end();
  await tearDown();
}
