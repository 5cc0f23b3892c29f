import { tearDown } from './global-setup';

export default async function globalTeardown(): Promise<void> {
  await tearDown();
}
