import { TokensService } from '../src/auth';
import { Money } from '../src/common';
import { LedgerService } from '../src/ledger';
import { UsersService } from '../src/users';
import { createApiClient } from './support/api-client';
import { forAllTests } from './support/fixtures';
import { sharedTestService } from './support/test-service';

describe('GET /me', () => {
  const service = forAllTests(sharedTestService);

  async function signUp(user: Parameters<UsersService['create']>[0]) {
    const { id } = await service.app.get(UsersService).create(user);
    const { text } = await service.app.get(TokensService).issue({ userId: id, scopes: ['profile:read'] });
    return { id, api: createApiClient(service.baseUrl, text) };
  }

  it('shows the profile and the balance of the token’s user', async () => {
    await service.createUser({ balance: '77.00' });
    const { id, api } = await signUp({
      username: 'ada',
      tgId: 7_123_456_789,
      webUsername: 'ada.l',
      hasApp: true,
    });
    await service.app.get(LedgerService).credit(id, Money.parse('1234.5'), 'test');
    const { data, response } = await api.GET('/me');
    expect(response.status).toBe(200);
    expect(response.headers.get('Content-Type')).toBe('application/json; charset=utf-8');
    expect(data).toEqual({
      tg_id: 7_123_456_789,
      username: 'ada',
      web_username: 'ada.l',
      balance: '1234.50',
      has_app: true,
    });
  });

  it('shows null for unknown fields, and an empty balance', async () => {
    const { api } = await signUp({ username: 'bob' });
    expect((await api.GET('/me')).data).toEqual({
      tg_id: null,
      username: 'bob',
      web_username: null,
      balance: '0.00',
      has_app: false,
    });
  });

  it('shows a large balance to the kopeck', async () => {
    const { id, api } = await signUp({ username: 'rich' });
    for (let times = 0; times < 3; times++) {
      await service.app.get(LedgerService).credit(id, Money.parse('99999999.99'), 'test');
    }
    expect((await api.GET('/me')).data?.balance).toBe('299999999.97');
  });

  it('does not include in the balance what is held for an open order', async () => {
    const user = await service.createUser({ balance: '100.00' });
    const gate = await service.control.addGate({ method: 'buy', stage: 'received' });
    const purchase = user.buy({ period: 3 });
    await service.control.untilGateReached(gate);
    const during = await user.api.GET('/me');
    await service.control.openGate(gate);
    const { data: bought } = await purchase;
    const after = await user.api.GET('/me');
    expect(during.data?.balance).toBe(
      Money.parse('100')
        .minus(Money.parse(bought?.price_charged ?? ''))
        .toString(),
    );
    expect(after.data?.balance).toBe(during.data?.balance);
  });
});
