import { compareDecimals, Money, multiplyDecimal, unitPriceWithMarkup } from './money';

describe('Money', () => {
  it.each([
    ['0', '0.00'],
    ['5', '5.00'],
    ['0.1', '0.10'],
    ['1234.50', '1234.50'],
    ['1234.500', '1234.50'],
    ['-0.05', '-0.05'],
    ['999999999999.99', '999999999999.99'],
  ])('reads %s as %s', (text, written) => {
    expect(Money.parse(text).toString()).toBe(written);
  });

  it.each(['', '1.', '.5', '1e3', ' 1', '0.001', 'NaN', '1,5'])('refuses %p', (text) => {
    expect(() => Money.parse(text)).toThrow(RangeError);
  });

  it('multiplies and subtracts without a rounding error', () => {
    expect(Money.parse('0.10').times(3).minus(Money.parse('0.30')).toString()).toBe('0.00');
  });
});

describe('multiplyDecimal', () => {
  it.each([
    ['2.95', 3, '8.85'],
    ['2.90', 10, '29.00'],
    ['28', 1000, '28000'],
    ['0.000000000001', 7, '0.000000000007'],
    ['0', 5, '0'],
    ['0.05', 0, '0.00'],
  ])('multiplies %s by %i to %s', (text, factor, product) => {
    expect(multiplyDecimal(text, factor)).toBe(product);
  });
});

describe('compareDecimals', () => {
  it.each([
    ['10', '9.99', 1],
    ['28.00', '28', 0],
    ['28', '28.000', 0],
    ['27.9999', '28', -1],
    ['100000000000000000.01', '100000000000000000.02', -1],
    ['0.1', '0.09', 1],
    ['-0.5', '0', -1],
    ['-0.5', '-0.51', 1],
  ])('compares %s with %s: %i', (one, other, expected) => {
    expect(compareDecimals(one, other)).toBe(expected);
  });
});

describe('unitPriceWithMarkup', () => {
  it.each([
    ['2.95', 1, '20', '3.54'],
    ['1800', 1000, '20', '2.16'],
    ['10', 3, '0', '3.34'],
    ['0.0001', 1, '0', '0.01'],
    ['28', 1, '12.5', '31.50'],
    ['100', 7, '20', '17.15'],
    ['5.51', 1, '0', '5.51'],
    ['5.51', 1, '12.5', '6.20'],
    ['5.51', 1, '0.0001', '5.52'],
    ['5.51', 1, '250', '19.29'],
  ])('divides %s by %i and adds %s %% to get %s', (total, count, markup, price) => {
    expect(unitPriceWithMarkup(total, count, markup).toString()).toBe(price);
  });
});
