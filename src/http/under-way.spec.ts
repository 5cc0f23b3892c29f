import type { AppConfig } from '../config';
import { RequestsUnderWay, TooManyUnderWay } from './under-way';

const OF_USER = 10;
const OF_ALL = 100;

it('Requests of a kind are bounded for each user and for all users, until they are over', () => {
  const underWay = new RequestsUnderWay({ server: { maxConnections: 2000 } } as AppConfig);
  const enter = (userId: number) => underWay.enter('check', userId);
  const leaves = Array.from({ length: OF_USER }, () => enter(0));
  expect(() => enter(0)).toThrow(TooManyUnderWay);
  while (leaves.length < OF_ALL) leaves.push(enter(Math.floor(leaves.length / OF_USER)));
  expect(() => enter(OF_ALL)).toThrow(TooManyUnderWay);
  expect(() => underWay.enter('ping', OF_ALL)).not.toThrow();
  leaves[0]?.();
  expect(() => enter(OF_ALL)).not.toThrow();
  expect(() => enter(0)).toThrow(TooManyUnderWay);
});
