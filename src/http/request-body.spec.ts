import { BodyUnreadable, parseBody } from './request-body';

describe('parseBody', () => {
  it.each([
    undefined,
    '',
    'application/json',
    'APPLICATION/JSON',
    'application/json; charset=utf-8',
    ' application/json ;x',
    'application/problem+JSON',
    'application/vnd.api+json',
  ])('reads JSON when the content type is %j', (contentType) => {
    expect(parseBody(Buffer.from('{}'), contentType)).toEqual({});
  });

  it.each([
    'text/plain',
    'text/json',
    'json',
    'application/jsonx',
    'application/json/x',
    'application/x-www-form-urlencoded',
    ';application/json',
  ])('keeps the text as it is when the content type is %j', (contentType) => {
    expect(parseBody(Buffer.from('{}'), contentType)).toBe('{}');
  });

  it('gives null for an empty body', () => {
    expect(parseBody(Buffer.alloc(0), 'application/json')).toBeNull();
    expect(parseBody(Buffer.alloc(0), 'text/plain')).toBeNull();
  });

  it('skips a byte order mark', () => {
    expect(parseBody(Buffer.from('\ufeff{}'), undefined)).toEqual({});
  });

  it('gives the position of a mistake in the JSON', () => {
    const refusal: Error = expect.objectContaining({
      items: [
        {
          type: 'json_invalid',
          loc: ['body', 1],
          msg: 'JSON decode error',
          input: {},
          ctx: { error: 'Expecting property name enclosed in double quotes' },
        },
      ],
    });
    expect(() => parseBody(Buffer.from('{bad'), undefined)).toThrow(refusal);
  });

  it.each([
    ['bytes that are not UTF-8', Buffer.from([0x22, 0xff, 0x22])],
    ['a compressed body', Buffer.from([0x1f, 0x8b, 0x08, 0x00])],
    ['endless nesting', Buffer.from('['.repeat(50_000))],
    ['an endless integer', Buffer.from('9'.repeat(5000))],
  ])('cannot read %s', (_, bytes) => {
    expect(() => parseBody(bytes, 'application/json')).toThrow(BodyUnreadable);
  });
});
