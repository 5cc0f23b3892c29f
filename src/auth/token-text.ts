import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIXES = { token: 'prx_', link: 'prl_' } as const;

export type SecretKind = keyof typeof PREFIXES;

const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const SECRET_BYTES = 32;
/** 256 bits take 43 digits in base 62, and 32 bits take 6. */
const SECRET_LENGTH = 43;
const CHECKSUM_LENGTH = 6;
const SHAPE = new RegExp(`^pr[xl]_[0-9A-Za-z]{${SECRET_LENGTH + CHECKSUM_LENGTH}}$`);

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

/** Generates a secret: prefix, 256 random bits in base 62, and a CRC-32 for secret scanners. */
export function generateSecret(kind: SecretKind): string {
  const random = base62(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LENGTH);
  const text = PREFIXES[kind] + random;
  return text + checksum(text);
}

export const generateToken = (): string => generateSecret('token');

/** Rejects mistyped secrets without a database query. */
export function isWellFormedSecret(kind: SecretKind, text: string): boolean {
  return (
    text.startsWith(PREFIXES[kind]) &&
    SHAPE.test(text) &&
    text.endsWith(checksum(text.slice(0, -CHECKSUM_LENGTH)))
  );
}

export const isWellFormedToken = (text: string): boolean => isWellFormedSecret('token', text);

/** 256 random bits need neither salt nor key stretching. */
export const hashToken = (secret: string): Buffer => Buffer.from(hexHashOf(secret), 'hex');

/** Returns hexadecimal digits, which Node computes six times as fast as a buffer. */
export const hexHashOf = (secret: string): string => hash('sha256', secret, 'hex');
