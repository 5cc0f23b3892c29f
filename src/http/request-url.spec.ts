import { parseQuery, toNormalUrl, withoutSecrets } from './request-url';

describe('toNormalUrl', () => {
  const urls: [url: string, normal: string][] = [
    ['/price?count=1&period=%zz', '/price?count=1&period=%zz'],
    ['/%63ountries', '/countries'],
    ['/countries/a%2Fb/count', '/countries/a/b/count'],
    ['/proxies/%/ping', '/proxies/%25/ping'],
    ['/proxies/%zz/ping', '/proxies/%25zz/ping'],
    ['/proxies/%FF/ping', '/proxies/%EF%BF%BD/ping'],
    ['/proxies/%00/ping', '/proxies/%00/ping'],
    ['/proxies/%F0%9F%98%80/ping', '/proxies/%F0%9F%98%80/ping'],
    ['http://host.example/me?a=/?b', '/me?a=/?b'],
    ['http://host.example', '/'],
    ['/me#part?a=b', '/me'],
    ['//me', '//me'],
    ['*', '*'],
  ];

  it.each(urls)('turns %s into %s', (url, normal) => {
    expect(toNormalUrl(url)).toBe(normal);
  });
});

describe('parseQuery', () => {
  const queries: [query: string, parameters: Record<string, string>][] = [
    ['', {}],
    ['&&', {}],
    ['count=5&count=6', { count: '6' }],
    ['count=', { count: '' }],
    ['count', { count: '' }],
    ['=1', { '': '1' }],
    ['a=b=c', { a: 'b=c' }],
    ['a+b=c+d%2Be', { 'a b': 'c d+e' }],
    ['%63ount=%35', { count: '5' }],
    ['a=%zz%4&b=%', { a: '%zz%4', b: '%' }],
    ['a=%FF%C3%28%E2%82', { a: '\ufffd\ufffd(\ufffd' }],
    ['a=%ED%A0%80', { a: '\ufffd\ufffd\ufffd' }],
    ['a=%EF%BB%BF6%00', { a: '\ufeff6\u0000' }],
    ['a[b]=1&c[]=2', { 'a[b]': '1', 'c[]': '2' }],
    ['toString=1', { toString: '1' }],
  ];

  it.each(queries)('reads %j', (query, parameters) => {
    expect({ ...parseQuery(query) }).toEqual(parameters);
  });

  it('treats __proto__ like any other name', () => {
    expect(Object.entries(parseQuery('__proto__=1'))).toEqual([['__proto__', '1']]);
  });
});

describe('A logged path', () => {
  const secret = `prl_${'aB3'.repeat(16)}x`;
  const paths: [path: string, logged: string][] = [
    ['/l', '/l'],
    ['/l/', '/l/…'],
    [`/l/${secret}`, '/l/…'],
    [`/l/${secret.slice(0, 20)}`, '/l/…'],
    [`/l/${secret}/more`, '/l/…'],
    [`/L/${secret}`, '/L/…'],
    [`//l/${secret}`, '//l/…'],
    [`/api/${secret.slice(0, 20)}/buy`, '/api/…'],
    [`/API/${secret.slice(0, 20)}`, '/API/…'],
    [`/proxies/l/${secret}.txt`, '/proxies/l/….txt'],
    [`/${secret.replace('prl', 'prx')}`, '/…'],
    ['/links/17', '/links/17'],
    [
      '/staff/orders/0b7fcb6e-3f60-4b1d-8a44-3b2b3d1f2c11',
      '/staff/orders/0b7fcb6e-3f60-4b1d-8a44-3b2b3d1f2c11',
    ],
  ];

  it.each(paths)('of %s is %s', (path, logged) => {
    expect(withoutSecrets(path)).toBe(logged);
  });
});
