import { readString } from './read-string';

describe('readString', () => {
  it('keeps text as it is, untrimmed', () => {
    expect(readString(' ru\u0000', {})).toBe(' ru\u0000');
  });

  it.each([[6n], [6.5], [true], [null], [[]], [{}]])('refuses %p, which is not text', (input) => {
    expect(readString(input, {})).toEqual({
      type: 'string_type',
      msg: 'Input should be a valid string',
      input,
    });
  });

  it('counts code points', () => {
    expect(readString('😀😀', { minLength: 2, maxLength: 2 })).toBe('😀😀');
    expect(readString('😀', { minLength: 2 })).toMatchObject({
      type: 'string_too_short',
      ctx: { min_length: 2 },
    });
  });

  it('distinguishes one character from several in its message', () => {
    expect(readString('', { minLength: 1 })).toMatchObject({
      msg: 'String should have at least 1 character',
    });
    expect(readString('', { minLength: 2 })).toMatchObject({
      msg: 'String should have at least 2 characters',
    });
    expect(readString('ab', { maxLength: 1 })).toMatchObject({
      msg: 'String should have at most 1 character',
    });
    expect(readString('russi', { maxLength: 4 })).toMatchObject({
      msg: 'String should have at most 4 characters',
    });
  });

  it.each(['6 ', '6\n', '4S', '', '٦'])('matches %j against the whole pattern', (input) => {
    expect(readString(input, { pattern: '^(6|4|4s)$' })).toEqual({
      type: 'string_pattern_mismatch',
      msg: "String should match pattern '^(6|4|4s)$'",
      input,
      ctx: { pattern: '^(6|4|4s)$' },
    });
  });

  it('refuses half a surrogate pair when there is a bound to check', () => {
    expect(readString('ab\ud800', { maxLength: 4 })).toMatchObject({ type: 'string_unicode' });
    expect(readString('ab\ud800', {})).toBe('ab\ud800');
  });
});
