const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?$/;

/** Equals `units / 10 ** scale`. */
interface ExactDecimal {
  readonly units: bigint;
  readonly scale: number;
}

function parseDecimal(text: string): ExactDecimal {
  const match = DECIMAL.exec(text);
  if (!match) throw new RangeError('not a decimal number');
  const [, sign, whole = '', fraction = ''] = match;
  const units = BigInt(whole + fraction);
  return { units: sign === '-' ? -units : units, scale: fraction.length };
}

function formatDecimal({ units, scale }: ExactDecimal): string {
  const sign = units < 0n ? '-' : '';
  const digits = (units < 0n ? -units : units).toString().padStart(scale + 1, '0');
  return sign + (scale === 0 ? digits : `${digits.slice(0, -scale)}.${digits.slice(-scale)}`);
}

function ceilDivide(dividend: bigint, divisor: bigint): bigint {
  const quotient = dividend / divisor;
  return dividend % divisor > 0n ? quotient + 1n : quotient;
}

export function multiplyDecimal(text: string, factor: number): string {
  const { units, scale } = parseDecimal(text);
  return formatDecimal({ units: units * BigInt(factor), scale });
}

export function subtractDecimals(one: string, other: string): string {
  const [left, right] = [parseDecimal(one), parseDecimal(other)];
  const scale = Math.max(left.scale, right.scale);
  const atScale = ({ units, scale: own }: ExactDecimal) => units * 10n ** BigInt(scale - own);
  return formatDecimal({ units: atScale(left) - atScale(right), scale });
}

/** Compares by value, so `"1.5"` equals `"1.50"`. */
export function compareDecimals(one: string, other: string): number {
  const [left, right] = [parseDecimal(one), parseDecimal(other)];
  const difference = left.units * 10n ** BigInt(right.scale) - right.units * 10n ** BigInt(left.scale);
  return difference < 0n ? -1 : Number(difference > 0n);
}

/** An amount in roubles, exact to the kopeck. Its string form has two decimals, such as `"1234.50"`. */
export class Money {
  static readonly zero = new Money(0n);

  private constructor(readonly kopecks: bigint) {}

  static ofKopecks(kopecks: bigint): Money {
    return new Money(kopecks);
  }

  /** @throws RangeError if the string is not a decimal number or has fractions of a kopeck */
  static parse(text: string): Money {
    const { units, scale } = parseDecimal(text);
    const coarse = 10n ** BigInt(Math.max(scale - 2, 0));
    const scaled = units * 10n ** BigInt(Math.max(2 - scale, 0));
    if (scaled % coarse !== 0n) throw new RangeError('an amount has at most two decimals');
    return new Money(scaled / coarse);
  }

  times(count: number): Money {
    return new Money(this.kopecks * BigInt(count));
  }

  plus(other: Money): Money {
    return new Money(this.kopecks + other.kopecks);
  }

  minus(other: Money): Money {
    return new Money(this.kopecks - other.kopecks);
  }

  isPositive(): boolean {
    return this.kopecks > 0n;
  }

  toString(): string {
    return formatDecimal({ units: this.kopecks, scale: 2 });
  }

  toJSON(): string {
    return this.toString();
  }
}

/** Returns the price of one proxy: providerTotal ÷ count × (1 + markup), rounded up to the kopeck. */
export function unitPriceWithMarkup(providerTotal: string, count: number, markupPercent: string): Money {
  const total = parseDecimal(providerTotal);
  const markup = parseDecimal(markupPercent);
  const hundredPercent = 100n * 10n ** BigInt(markup.scale);
  const dividend = total.units * 100n * (hundredPercent + markup.units);
  const divisor = 10n ** BigInt(total.scale) * BigInt(count) * hundredPercent;
  return Money.ofKopecks(ceilDivide(dividend, divisor));
}
