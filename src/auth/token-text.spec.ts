import { generateToken, hashToken, isWellFormedToken } from './token-text';

describe('token text', () => {
  it('is prx_, 43 digits of base 62 and 6 of checksum', () => {
    expect(generateToken()).toMatch(/^prx_[0-9A-Za-z]{49}$/);
  });

  it('never repeats and is well-formed', () => {
    const tokens = Array.from({ length: 1000 }, generateToken);
    expect(new Set(tokens).size).toBe(1000);
    expect(tokens.every(isWellFormedToken)).toBe(true);
  });

  it('is told from a text with one character changed', () => {
    const token = generateToken();
    for (const at of [4, 20, token.length - 1]) {
      const other = token[at] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
    }
  });

  it('is stored as 32 bytes that do not hold it', () => {
    const token = generateToken();
    expect(hashToken(token)).toHaveLength(32);
    expect(hashToken(token).toString('latin1')).not.toContain(token.slice(4, 10));
  });
});
