import { createHmac } from 'node:crypto';
import type { Version } from '../catalog/catalog';

const LENGTH = 6;
const LOGIN = /^[0-9a-z]{6}$/;
const LOGIN_BASE = 36;
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Derives credentials and exit addresses from the account's secret, so that they need not be stored. */
export class Credentials {
  constructor(private readonly secret: string) {}

  loginOf(proxyId: number): string {
    return proxyId.toString(LOGIN_BASE).padStart(LENGTH, '0');
  }

  findIdOf(login: string): number | null {
    return LOGIN.test(login) ? Number.parseInt(login, LOGIN_BASE) : null;
  }

  passwordOf(proxyId: number): string {
    const digest = this.digest('password', proxyId);
    return Array.from(digest.subarray(0, LENGTH), (byte) => ALPHABET.charAt(byte % ALPHABET.length)).join('');
  }

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
