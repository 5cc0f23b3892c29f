/** Compares two decimal strings of any precision exactly. */
export function isAtLeast(amount: string, other: string): boolean {
  const scale = Math.max(decimalsOf(amount).length, decimalsOf(other).length);
  return toUnits(amount, scale) >= toUnits(other, scale);
}

const decimalsOf = (text: string): string => text.split('.')[1] ?? '';

const toUnits = (text: string, scale: number): bigint =>
  BigInt((text.split('.')[0] ?? '') + decimalsOf(text).padEnd(scale, '0'));
