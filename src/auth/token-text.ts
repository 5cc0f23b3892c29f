import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'prx_';
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 256 bits need 43 digits of base 62, 32 bits need 6. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

function base62(value: bigint, length: number): string {
  let rest = value;
  let digits = '';
  while (digits.length < length) {
    digits = ALPHABET.charAt(Number(rest % 62n)) + digits;
    rest /= 62n;
  }
  return digits;
}

const checksum = (text: string): string => base62(BigInt(crc32(text)), CHECKSUM_LENGTH);

/** Generates a token: `prx_`, 256 random bits in base 62, and a CRC-32 by which scanners recognize tokens. */
export function generateToken(): string {
  const secret = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  return PREFIX + secret + checksum(PREFIX + secret);
}

/** Tells whether a text has the form of a token, so that a mistyped one is rejected without the database. */
export function isWellFormedToken(text: string): boolean {
  return SHAPE.test(text) && text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)));
}

/** The stored form of a token. With 256 random bits, a plain hash needs neither salt nor stretching. */
export const hashToken = (token: string): Buffer => Buffer.from(hexHashOf(token), 'hex');

/** The stored form in hexadecimal digits, which Node makes in a sixth of the time. */
export const hexHashOf = (token: string): string => hash('sha256', token, 'hex');
