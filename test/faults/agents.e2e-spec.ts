import { type Agent, connectAgent, cutCall } from '../support/agent';
import { eventually } from '../support/built-service';
import { beforeClosing, forAllTests } from '../support/fixtures';
import { startReplica } from '../support/replica';
import { startTestService } from '../support/test-service';

/** Where the first call of an order is cut: at the agent's end, or the provider's. */
const CUTS = ['sent', 'held', 'responding', 'lost'] as const;
const TWO = { country: 'RU', period: 30, count: 2 };

// This service is not shared, because the test moves its clock.
describe('Calls of agents', () => {
  const service = forAllTests(startTestService);
  const replica = forAllTests(() => startReplica(service));
  const user = forAllTests(() => service.createUser());
  const agents = forAllTests(
    () => Promise.all([service, replica].map(({ baseUrl }) => connectAgent(baseUrl, user.token))),
    (opened) => Promise.all(opened.map((agent) => agent.close())),
  );
  beforeClosing(() => service.audit({ withProvider: true }));

  const untilPlaced = (agent: Agent, order_ref: unknown) =>
    eventually(async () => {
      const { result, error } = await agent.call('place_order', { order_ref });
      if (error) expect(error.next).toMatch(/^(?:Call place_order again with the same order_ref|Wait)/);
      const isOpen = JSON.stringify(result).includes('being_confirmed');
      return !isOpen && result;
    });

  it('place each prepared order once, whenever responses are cut, on any replica, at any time', async () => {
    const [one, other] = agents as [Agent, Agent];
    const bought = await user.buy();
    const proxyId = bought.data && 'proxies' in bought.data ? bought.data.proxies[0]?.id : undefined;
    const count = async (): Promise<number> =>
      (await service.dataSource.query('SELECT count(*)::int AS count FROM orders'))[0].count;
    const first = await count();
    const orders: { ref: unknown; orders: number; placed: Record<string, unknown> }[] = [];
    const steps = [
      ['prepare_purchase', TWO, 'buy'],
      ['prepare_prolongation', { proxy_ids: [proxyId], period: 30 }, 'prolong'],
    ] as const;
    for (const [prepare, given, method] of steps) {
      for (const cut of method === 'buy' ? CUTS : CUTS.slice(0, 3)) {
        const { order_ref: ref } = (await one.call(prepare, given)).result ?? {};
        const call = { name: 'place_order', arguments: { order_ref: ref } };
        if (cut === 'sent' || cut === 'responding') {
          await cutCall(service.baseUrl, user.token, cut, call);
        } else if (cut === 'held') {
          const gate = await service.control.addGate({ method, stage: 'received' });
          const held = cutCall(service.baseUrl, user.token, 'responding', call);
          await service.control.untilGateReached(gate);
          expect((await other.call('place_order', { order_ref: ref })).error?.next).toContain(
            'same order_ref',
          );
          await service.control.openGate(gate);
          await held;
        } else if (cut === 'lost') {
          await service.control.addFault({ method, kind: 'response-lost', times: 1 });
          await cutCall(service.baseUrl, user.token, 'responding', call);
        }
        const placed = await Promise.all([untilPlaced(other, ref), untilPlaced(one, ref)]);
        expect({ ...placed[0], replayed: true }).toEqual({ ...placed[1], replayed: true });
        orders.push({ ref, orders: await count(), placed: placed[0] });
      }
    }
    expect(orders.map((order) => order.orders)).toEqual(orders.map((_, n) => first + n + 1));
    const { order_ref: unused } = (await one.call('prepare_purchase', TWO)).result ?? {};
    const later = async (agent: Agent) => (await agent.call('place_order', { order_ref: unused })).error;
    service.clock.advanceSeconds(15 * 60 + 1);
    expect(await later(other)).toMatchObject({ code: 'preparation-expiring' });
    service.clock.advanceSeconds(5 * 60);
    expect(await later(one)).toMatchObject({ code: 'preparation-expired' });
    for (const { ref, placed } of orders) {
      for (const agent of [one, other]) {
        const { result } = await agent.call('place_order', { order_ref: ref });
        expect(result).toEqual({ ...placed, replayed: true });
      }
    }
    expect(await count()).toBe(first + orders.length);
  });
});
