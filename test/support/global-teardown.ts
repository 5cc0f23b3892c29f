import { shared } from '../jest/shared';
import { tearDown } from './global-setup';

export default async function globalTeardown(): Promise<void> {
  // Open when the tests ran in this process instead of workers.
  await shared.close?.();
  await (await shared.admin)?.end();
  await tearDown();
}
