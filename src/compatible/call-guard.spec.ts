import type { ExecutionContext } from '@nestjs/common';
import type { AppConfig } from '../config';
import { CallGuard } from './call-guard';

const contextOf = (tokenId: number) => {
  const request = { user: { tokenId, scopes: ['profile:read'] } };
  return { switchToHttp: () => ({ getRequest: () => request }) } as ExecutionContext;
};

test('a token makes three calls in a second, and others are not affected', () => {
  const nowMs = jest.spyOn(performance, 'now').mockReturnValue(0);
  const guard = new CallGuard({ tuning: {} } as AppConfig);
  const call = (tokenId = 1) => guard.canActivate(contextOf(tokenId));
  const at = (ms: number) => nowMs.mockReturnValue(ms);

  expect([call(), call(), call()]).toEqual([true, true, true]);
  at(999);
  expect(call).toThrow('Too many calls');
  expect(call(2)).toBe(true);
  at(1000);
  expect([call(), call(), call()]).toEqual([true, true, true]);
  expect(call).toThrow('Too many calls');
  nowMs.mockRestore();
});
