import { getcount, getcountry, getprice } from './catalog-methods';
import { buy, prolong } from './order-methods';
import { check, deleteProxies, getproxy, ipauth, setdescr, settype } from './proxy-methods';
import type { WireMethod } from './wire-method';

const account: WireMethod = () => ({});

/** `account` is the URL without a method. Its response is only the envelope. */
export const WIRE_METHODS = {
  account,
  getprice,
  getcount,
  getcountry,
  getproxy,
  buy,
  prolong,
  setdescr,
  settype,
  delete: deleteProxies,
  check,
  ipauth,
} satisfies Record<string, WireMethod>;

export type WireMethodName = keyof typeof WIRE_METHODS;

export const WIRE_METHOD_NAMES = Object.keys(WIRE_METHODS).filter(isWireMethodName);

export function isWireMethodName(name: unknown): name is WireMethodName {
  return typeof name === 'string' && Object.hasOwn(WIRE_METHODS, name);
}
