import type { TestService, TestUser } from './test-service';

/** Executes a purchase whose response is lost. The provider lists nothing of ours until `resetFaults`. */
export async function leaveOrderOpen({ control }: TestService, user: TestUser): Promise<void> {
  await control.addFault({ method: 'buy', kind: 'response-lost' });
  await control.addFault({
    method: 'getproxy',
    kind: 'http-status',
    status: 500,
    match: { descr: 'prs*' },
    times: null,
  });
  await user.buy();
}
