import type { AppConfig } from '../config';
import { RequestsUnderWay, TooManyUnderWay } from './under-way';

const open = (): RequestsUnderWay => new RequestsUnderWay({ server: { maxConnections: 2000 } } as AppConfig);

it.each([
  ['check', 10, 100],
  ['type', 10, 50],
  ['wait', 100, 800],
  ['body', 50, 200],
] as const)('Requests of a kind are bounded for each user and in all: %s', (kind, ofUser, ofAll) => {
  const underWay = open();
  const enter = (userId: number) => underWay.enter(kind, userId);
  const leaves = Array.from({ length: ofUser }, () => enter(0));
  expect(() => enter(0)).toThrow(TooManyUnderWay);
  while (leaves.length < ofAll) leaves.push(enter(Math.floor(leaves.length / ofUser)));
  expect(() => enter(ofAll)).toThrow(TooManyUnderWay);
  expect(() => underWay.enter('ping', ofAll)).not.toThrow();
  leaves[0]?.();
  expect(() => enter(ofAll)).not.toThrow();
  expect(() => enter(0)).toThrow(TooManyUnderWay);
});
