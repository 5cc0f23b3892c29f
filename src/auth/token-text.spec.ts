import {
  generateSecret,
  generateToken,
  hashToken,
  isWellFormedSecret,
  isWellFormedToken,
} from './token-text';

describe('A token', () => {
  it('consists of prx_, 43 digits of base 62 and a checksum of 6', () => {
    expect(generateToken()).toMatch(/^prx_[0-9A-Za-z]{49}$/);
  });

  it('is unique and well-formed', () => {
    const tokens = Array.from({ length: 1000 }, generateToken);
    expect([new Set(tokens).size, tokens.every(isWellFormedToken)]).toEqual([1000, true]);
  });

  it('is no longer well-formed with one character changed', () => {
    const token = generateToken();
    for (const at of [4, 20, token.length - 1]) {
      const other = token[at] === 'a' ? 'b' : 'a';
      expect(isWellFormedToken(token.slice(0, at) + other + token.slice(at + 1))).toBe(false);
    }
  });

  it('is stored as 32 bytes that do not contain it', () => {
    const token = generateToken();
    expect(hashToken(token)).toHaveLength(32);
    expect(hashToken(token).toString('latin1')).not.toContain(token.slice(4, 10));
  });
});

describe('The secret of a link', () => {
  it('has the strength and the form of a token, and is none', () => {
    const secret = generateSecret('link');
    expect(secret).toMatch(/^prl_[0-9A-Za-z]{49}$/);
    expect([isWellFormedSecret('link', secret), isWellFormedToken(secret)]).toEqual([true, false]);
    expect(isWellFormedToken(secret.replace('prl_', 'prx_'))).toBe(false);
    expect(isWellFormedSecret('link', generateToken())).toBe(false);
  });
});
