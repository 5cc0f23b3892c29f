import { isAtLeast } from './decimals';

describe('isAtLeast', () => {
  it.each([
    ['10', '9.99', true],
    ['28.00', '28', true],
    ['28', '28.000', true],
    ['27.9999', '28', false],
    ['100000000000000000.01', '100000000000000000.02', false],
    ['0.1', '0.09', true],
    ['-0.5', '0', false],
    ['-0.5', '-0.51', true],
  ])('compares %s with %s: %p', (amount, other, expected) => {
    expect(isAtLeast(amount, other)).toBe(expected);
  });
});
