import { createHash, createHmac } from 'node:crypto';
import type { Version } from '../catalog/catalog';

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const LENGTH = 6;
const BASE = BigInt(ALPHABET.length);
const LOGINS = BASE ** BigInt(LENGTH);
/** Coprime to LOGINS because it is a prime: multiplication by it permutes the logins. */
const STEP = 39_916_801_411n;
/** The inverse of STEP modulo LOGINS. */
const STEP_BACK = 14_768_233_835n;

/**
 * Derives logins, passwords and exit addresses from a proxy's id and the account's secret. None of them is
 * stored, and a login can be decoded to its proxy's id without an index.
 */
export class Credentials {
  private readonly start: bigint;

  constructor(private readonly secret: string) {
    this.start = BigInt(`0x${createHash('sha256').update(secret).digest('hex')}`) % LOGINS;
  }

  loginOf(proxyId: number): string {
    let rest = (BigInt(proxyId) * STEP + this.start) % LOGINS;
    let login = '';
    for (let place = 0; place < LENGTH; place += 1) {
      login = ALPHABET.charAt(Number(rest % BASE)) + login;
      rest /= BASE;
    }
    return login;
  }

  findIdOf(login: string): number | null {
    if (login.length !== LENGTH) return null;
    let value = 0n;
    for (const character of login) {
      const digit = ALPHABET.indexOf(character);
      if (digit === -1) return null;
      value = value * BASE + BigInt(digit);
    }
    return Number(((value - this.start + LOGINS) * STEP_BACK) % LOGINS);
  }

  passwordOf(proxyId: number): string {
    const digest = this.digest('password', proxyId);
    return Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  }

  /** An address from the ranges that are reserved for documentation and benchmarks. */
  exitAddressOf(proxyId: number, version: Version): string {
    const digest = this.digest('exit', proxyId);
    if (version !== '6') {
      return `198.${18 + (digest.readUInt8(0) % 2)}.${digest.readUInt8(1)}.${digest.readUInt8(2)}`;
    }
    const groups = Array.from({ length: 6 }, (_, index) => digest.readUInt16BE(2 * index).toString(16));
    return `2001:db8:${groups.join(':')}`;
  }

  private digest(purpose: string, proxyId: number): Buffer {
    return createHmac('sha256', this.secret).update(`${purpose}:${proxyId}`).digest();
  }
}
