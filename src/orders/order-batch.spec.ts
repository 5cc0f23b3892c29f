import { type BatchMember, chooseInTurn, type OrderBatch } from './order-batch';

const batchOf = (...orders: [userId: number, count: number][]): OrderBatch => ({
  id: 1,
  kind: 'purchase',
  orderReference: 't',
  country: 'ru',
  version: '6',
  period: 30,
  proxyType: 'http',
  submittedAt: new Date(0),
  sentBefore: new Date(0),
  resent: false,
  providerPrice: '0',
  members: orders.map(([userId, count], at) => ({
    id: at + 1,
    userId,
    count,
    placedAt: new Date(0),
    isRenewal: false,
    cost: `${count}.5`,
    providerProxyId: null,
    purchaseReference: null,
    dateEndBefore: null,
  })),
});

const idsOf = (members: readonly BatchMember[]): number[] => members.map(({ id }) => id);
const byCount = ({ count }: BatchMember): string => String(count);

describe('The part of a refused batch that fits', () => {
  it('is one order of each user before the second of any', () => {
    expect(idsOf(chooseInTurn(batchOf([1, 1], [1, 1], [1, 1], [2, 1], [3, 1]), '4', byCount))).toEqual([
      1, 4, 5, 2,
    ]);
  });

  it('omits an order that is too large, and goes on with the next', () => {
    expect(idsOf(chooseInTurn(batchOf([1, 50], [2, 2], [3, 4], [4, 3]), '5', byCount))).toEqual([2, 4]);
  });

  it('is counted exactly, and is nothing when nothing is there', () => {
    const batch = batchOf([1, 1], [2, 1], [3, 1]);
    expect(idsOf(chooseInTurn(batch, '3.0', ({ cost }) => cost))).toEqual([1, 2]);
    expect(idsOf(chooseInTurn(batch, '2.9999', ({ cost }) => cost))).toEqual([1]);
    expect(chooseInTurn(batch, '-5.00', ({ cost }) => cost)).toEqual([]);
  });
});
