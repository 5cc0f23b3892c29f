import type { ListedProxy } from '../../provider';
import type { BatchMember, OrderBatch } from '../order-batch';
import { prolongationEvidence, purchaseEvidence } from './evidence';

const DAY_MS = 24 * 3_600_000;
const SUBMITTED = new Date('2026-05-10T12:00:00Z');
const END = new Date('2026-06-01T00:00:00Z');

const member = (fields: Partial<BatchMember> = {}): BatchMember => ({
  id: 1,
  userId: 1,
  count: 2,
  placedAt: SUBMITTED,
  isRenewal: false,
  cost: '10.0000',
  providerProxyId: '1',
  purchaseReference: 't',
  dateEndBefore: END,
  ...fields,
});

const batch = (members: BatchMember[] = [member()]): OrderBatch => ({
  id: 1,
  kind: 'purchase',
  orderReference: 't',
  country: 'ru',
  version: '6',
  period: 30,
  proxyType: 'http',
  submittedAt: SUBMITTED,
  resent: false,
  sentBefore: SUBMITTED,
  providerPrice: '10.0000',
  members,
});

const listed = (dateEnd: Date): ListedProxy => ({
  id: '1',
  host: '127.0.0.1',
  port: '1',
  login: 'l',
  password: 'p',
  type: 'http',
  dateStart: END,
  dateEnd,
  orderReference: 't',
  country: 'ru',
  version: '6',
});
const movedBy = (days: number, from = END): ListedProxy => listed(new Date(from.getTime() + days * DAY_MS));

describe('evidence of a purchase', () => {
  it('counts the requests of all members of a batch', () => {
    const two = batch([member({ id: 1, count: 2 }), member({ id: 2, count: 1 })]);
    const found = (count: number) => Array.from({ length: count }, () => listed(END));
    expect(purchaseEvidence(two, found(2))).toMatchObject({ whole: false });
    expect(purchaseEvidence(two, found(3))).toMatchObject({ whole: true });
    expect(purchaseEvidence(two, found(4))).toMatchObject({ kind: 'contradictory' });
  });

  it.each([
    [0, { kind: 'nothing' }],
    [1, { kind: 'bought', whole: false }],
    [2, { kind: 'bought', whole: true }],
    [3, { kind: 'contradictory' }],
  ])('%i of 2 proxies under the order reference', (found, evidence) => {
    expect(
      purchaseEvidence(
        batch(),
        Array.from({ length: found }, () => listed(END)),
      ),
    ).toMatchObject(evidence);
  });
});

describe('evidence of a prolongation', () => {
  it.each<[string, ListedProxy | undefined, object]>([
    ['an end that has not moved', listed(END), { kind: 'nothing' }],
    ['an end that differs by a second', listed(new Date(END.getTime() + 1000)), { kind: 'nothing' }],
    ['an end moved by the period', movedBy(30), { kind: 'prolonged', times: 1 }],
    ['an end moved by the period and an hour', movedBy(30 + 1 / 24), { kind: 'prolonged', times: 1 }],
    ['an end moved by twice the period', movedBy(60), { kind: 'prolonged', times: 2 }],
    ['an end moved by something else', movedBy(5), { kind: 'contradictory' }],
    ['an end before the one read before the call', movedBy(-1), { kind: 'inconclusive' }],
    ['no such proxy', undefined, { kind: 'inconclusive' }],
  ])('%s', (_, proxy, evidence) => {
    expect(prolongationEvidence(batch(), member(), proxy)).toMatchObject(evidence);
  });

  it('takes a period from the call for a proxy that had expired', () => {
    const expired = member({ dateEndBefore: new Date('2026-05-01T00:00:00Z') });
    expect(prolongationEvidence(batch(), expired, movedBy(30, SUBMITTED))).toMatchObject({
      kind: 'prolonged',
      times: 1,
    });
  });

  it('does not take a period from the call for a proxy that had not', () => {
    expect(prolongationEvidence(batch(), member(), movedBy(30, SUBMITTED))).toMatchObject({
      kind: 'contradictory',
    });
  });
});
