import { DispatcherService } from '../../src/orders';
import { EndReader } from '../../src/orders/dispatch/end-reader';
import type { TestService } from './test-service';

/** Has a service leave alone what is queued and what it has not placed itself. @returns ends it */
export function lookAway({ app }: TestService): () => void {
  const looks = [
    jest.spyOn(app.get(DispatcherService), 'isAnyQueued').mockResolvedValue(false),
    jest.spyOn(app.get(EndReader), 'hasUnread').mockResolvedValue(false),
  ];
  return () => {
    for (const look of looks) look.mockRestore();
  };
}
