import { sandboxForAllTests } from '../../../test/support/sandbox';
import { WireClient } from '../../../test/support/wire-client';
import { WIRE_REFUSALS } from '../../../test/support/wire-refusals';
import { WIRE_ERRORS } from './wire-error';

const { sandbox, client, control } = sandboxForAllTests();
const BUY = 'buy?count=1&period=7&country=nl&version=4';

test.each([
  ...WIRE_REFUSALS,
  [230, 'delete'] as const,
  [300, 'buy?count=99999999&period=7&country=nl&version=4'] as const,
  [404, 'delete?ids=1'] as const,
])('error %i for %s', async (id, call) => {
  const response = await client.send(call);

  expect(response.status).toBe(200);
  expect(JSON.parse(response.text)).toEqual({
    status: 'no',
    error_id: id,
    error: new Map(Object.entries(WIRE_ERRORS)).get(String(id)),
  });
});

test('a wrong or missing key is error 100 for every method', async () => {
  const stranger = new WireClient(sandbox.baseUrl, 'wrong');

  await expect(stranger.call('buy?count=1')).resolves.toEqual({
    status: 'no',
    error_id: 100,
    error: 'Error key',
  });
  await expect((await fetch(`${sandbox.baseUrl}/api/`)).json()).resolves.toMatchObject({ error_id: 100 });
});

test('an insufficient balance is error 400, and nothing is sold', async () => {
  await control.setBalance('27.99');
  await expect(client.call(`${BUY}&descr=poor`)).resolves.toEqual({
    status: 'no',
    error_id: 400,
    error: 'Error no money',
  });
  await control.setBalance('28.00');
  await expect(client.call(`${BUY}&descr=poor`)).resolves.toMatchObject({ status: 'yes', balance: 0 });
  await control.setBalance('1000000');

  expect((await control.getState()).sales.filter(({ descr }) => descr === 'poor')).toHaveLength(1);
});

test('an insufficient stock is error 300', async () => {
  await control.setStock('4', 'pt', 2);

  await expect(client.call('buy?count=3&period=7&country=pt&version=4')).resolves.toMatchObject({
    error_id: 300,
  });
  await expect(client.call('buy?count=2&period=7&country=pt&version=4')).resolves.toMatchObject({
    status: 'yes',
  });
  await expect(client.call('getcount?country=pt&version=4')).resolves.toMatchObject({ count: 0 });
});

test('a missing price is error 210, a price of zero is error 410', async () => {
  await control.setPrice('3', 14, null);
  await control.setPrice('3', 30, '0');

  await expect(client.call('buy?count=1&period=14&country=nl&version=3')).resolves.toMatchObject({
    error_id: 210,
  });
  await expect(client.call('getprice?count=1&period=30&version=3')).resolves.toMatchObject({ error_id: 410 });
});

test('only GET is accepted, and only below /api', async () => {
  const url = `${sandbox.baseUrl}/api/${sandbox.apiKey}/${BUY}&descr=posted`;
  const posted = await fetch(url, { method: 'POST', body: 'x' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  expect((await fetch(`${sandbox.baseUrl}/`)).status).toBe(404);
  await expect(client.call('getproxy?descr=posted')).resolves.toMatchObject({ list_count: 0 });
});

test('the last value of a repeated parameter counts', async () => {
  await expect(
    client.call('getprice?count=1&count=3&period=3&period=7&version=6&version=4'),
  ).resolves.toMatchObject({ price: 84 });
});

test.each([
  'getproxy?page=0&limit=0',
  'getproxy?page=-1&limit=x',
  'getproxy?page=999999999&limit=1000000',
  'getproxy?state=&descr=',
  'getproxy?descr=%00%ff%F0%9F',
  'getproxy?%',
  'getproxy?=&&&==&?',
  'getproxy?__proto__=1&constructor=2',
  'getproxy?ids[]=1&ids[]=2',
])('%s ignores the invalid parameter', async (call) => {
  await expect(client.call(call)).resolves.toMatchObject({ status: 'yes' });
});

test('a method with an invalid percent-encoding is an unknown method', async () => {
  await expect(client.call('%zz')).resolves.toMatchObject({ error_id: 110 });
});

test('one call can prolong a thousand proxies', async () => {
  const { list } = await client.call<{ list: Array<{ id: string }> }>(
    'buy?count=1000&period=3&country=ru&version=6&nokey',
  );
  const ids = list.map(({ id }) => id).join(',');

  await expect(client.call(`prolong?period=3&ids=${ids}`)).resolves.toMatchObject({
    count: 1000,
    price: 2950,
  });
});
