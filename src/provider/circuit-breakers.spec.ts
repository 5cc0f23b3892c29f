import { eventually } from '../../test/support/built-service';
import { SystemClock } from '../common';
import { CircuitBreakers } from './circuit-breakers';
import { ProviderRefused } from './provider-errors';

it('The circuit breaker of the funds closes once the balance covers the cheapest refused call', async () => {
  const breakers = new CircuitBreakers(
    new SystemClock(),
    { breakerProbeMs: 1 },
    () => Promise.resolve(),
    () => '100.00',
  );
  const refused = () => Promise.reject(new ProviderRefused('out-of-funds'));
  const spend = (quoted: string) => breakers.spend(quoted, refused).catch(() => undefined);
  const isClosed = () => breakers.status().every(({ state }) => state === 'closed');
  await spend('200.00');
  await spend('50.00');
  await spend('1000.00');
  expect(isClosed()).toBe(false);
  await eventually(isClosed);
  breakers.shutDown();
});
