import { LIST_SCHEMA, TXT_EXAMPLE } from './file-response';
import type { FormatName } from './formats';
import { PROXYCHAINS_START } from './proxychains';

interface FormatText {
  readonly description: string;
  readonly schema?: object;
  readonly example?: unknown;
}

export const FORMAT_TEXTS: Readonly<Record<FormatName, FormatText>> = {
  json: { description: 'The same objects as `GET /proxies`.', schema: LIST_SCHEMA },
  txt: { description: 'One line `host:port:login:password` per proxy.', example: TXT_EXAMPLE },
  url: {
    description:
      'One line `http://login:password@host:port` per proxy, with `socks5h://` for SOCKS5, or ' +
      '`socks5://` if `socks=socks5` is set. Logins and passwords are percent-encoded, and IPv6 ' +
      'addresses are in brackets.',
    example: 'http://5svBNZ:iagn2d@185.22.134.250:7330\nsocks5h://Kd82hs:pQ1x9w@185.22.134.250:7331\n',
  },
  csv: {
    description:
      'The fields of `GET /proxies`, with their names in the first line. A cell that a spreadsheet ' +
      'would interpret as a formula, even a password, is prefixed with an apostrophe, so programs ' +
      'should read `json` instead.',
    example:
      'id,host,port,login,password,proxy_type,country,version,date_start,date_end,active,descr\r\n' +
      '17,185.22.134.250,7330,5svBNZ,iagn2d,http,ru,6,2026-11-01T12:00:00Z,2026-12-01T12:00:00Z,true,\r\n',
  },
  curl: {
    description:
      'A file for `curl --config`. The first active proxy is used; the others are comments. Without an ' +
      'active proxy, curl fails instead of connecting directly. `NO_PROXY` has no effect.',
    example:
      '# curl --config curl.conf https://example.com/\n' +
      '# The first active proxy is used; the others are comments.\n' +
      'noproxy = ""\n' +
      'proxy = "http://5svBNZ:iagn2d@185.22.134.250:7330"\n' +
      '# proxy = "socks5h://Kd82hs:pQ1x9w@185.22.134.250:7331"\n',
  },
  proxychains: {
    description:
      'A configuration file for proxychains4, which uses one of the proxies for each connection and ' +
      'reads only the first 512. A proxy that it cannot read is replaced with a comment that states ' +
      'the reason: `host` is a name, or the login or password is longer than 255 bytes, contains a ' +
      'space or, for HTTP, contains non-ASCII characters.',
    example:
      `${PROXYCHAINS_START}http 185.22.134.250 7330 5svBNZ iagn2d\n` +
      'socks5 185.22.134.250 7331 Kd82hs pQ1x9w\n',
  },
  playwright: {
    description:
      "An array of objects for Playwright's option `proxy`. Chromium cannot log in to SOCKS5 proxies, " +
      'so use HTTP proxies with it. If there are no proxies, the array contains a proxy to which no ' +
      'connection can be made.',
    schema: {
      type: 'array',
      items: {
        type: 'object',
        required: ['server', 'username', 'password'],
        properties: {
          server: { type: 'string' },
          username: { type: 'string' },
          password: { type: 'string' },
        },
      },
    },
    example: [
      { server: 'http://185.22.134.250:7330', username: '5svBNZ', password: 'iagn2d' },
      { server: 'socks5://185.22.134.250:7331', username: 'Kd82hs', password: 'pQ1x9w' },
    ],
  },
  clash: {
    description:
      'A profile for Clash and mihomo, which can also be used as a file for their proxy providers. All ' +
      'traffic goes through the selected proxy of the group `rented`, which contains the first 1,000 ' +
      'active proxies; UDP traffic that the proxy cannot carry is rejected. Programs connect to port ' +
      '7890. Without an active proxy, no connection can be made.',
    example:
      'mixed-port: 7890\nmode: rule\nproxies:\n' +
      '  - {"name":"ru-17","type":"http","server":"185.22.134.250","port":7330,' +
      '"username":"5svBNZ","password":"iagn2d"}\n' +
      'proxy-groups:\n  - {"name":"rented","type":"select","proxies":["ru-17"]}\n' +
      'rules:\n  - MATCH,rented\n  - MATCH,REJECT\n',
  },
  'sing-box': {
    description:
      'A configuration file for sing-box. All traffic goes through the first proxy of the selector ' +
      '`rented`, which contains the first 1,000 active proxies. Programs connect to port 2080. Without ' +
      'an active proxy, no connection can be made.',
    schema: {
      type: 'object',
      required: ['inbounds', 'route', 'outbounds'],
      properties: {
        inbounds: { type: 'array', items: { type: 'object' } },
        route: { type: 'object' },
        outbounds: { type: 'array', items: { type: 'object' } },
      },
    },
    example: {
      inbounds: [{ type: 'mixed', listen: '127.0.0.1', listen_port: 2080 }],
      route: { final: 'rented' },
      outbounds: [
        {
          type: 'socks',
          tag: 'ru-18',
          server: '185.22.134.250',
          server_port: 7331,
          version: '5',
          username: 'Kd82hs',
          password: 'pQ1x9w',
        },
        { type: 'selector', tag: 'rented', outbounds: ['ru-18'] },
      ],
    },
  },
};
