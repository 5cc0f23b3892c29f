import type { JsonValue } from '../../json/json-value';
import { readBoolean } from './read-boolean';

describe('readBoolean', () => {
  it.each<[JsonValue]>([[true], ['true'], ['TRUE'], ['T'], ['y'], ['Yes'], ['oN'], ['1'], [1n], [1]])(
    'takes %p for true',
    (input) => {
      expect(readBoolean(input)).toBe(true);
    },
  );

  it.each<[JsonValue]>([[false], ['false'], ['F'], ['n'], ['NO'], ['Off'], ['0'], [0n], [-0]])(
    'takes %p for false',
    (input) => {
      expect(readBoolean(input)).toBe(false);
    },
  );

  it.each<[JsonValue]>([
    [''],
    [' true'],
    ['true '],
    ['2'],
    ['tru'],
    ['o\u212a'],
    [2n],
    [1e18],
    [2n ** 63n - 1n],
  ])('cannot interpret %p', (input) => {
    expect(readBoolean(input)).toEqual({
      type: 'bool_parsing',
      msg: 'Input should be a valid boolean, unable to interpret input',
      input,
    });
  });

  it.each<[JsonValue]>([[null], [[]], [{}], [1.5], [NaN], [1e19], [2n ** 63n]])(
    'refuses %p, which is none',
    (input) => {
      expect(readBoolean(input)).toEqual({
        type: 'bool_type',
        msg: 'Input should be a valid boolean',
        input,
      });
    },
  );

  it('refuses half a surrogate pair', () => {
    expect(readBoolean('\ud800')).toMatchObject({ type: 'string_unicode' });
  });
});
