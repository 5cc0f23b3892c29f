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
  txt: { description: 'A line `host:port:login:password` for each proxy.', example: TXT_EXAMPLE },
  url: {
    description:
      'A line `http://login:password@host:port` for each proxy, `socks5h://` for SOCKS5, or ' +
      '`socks5://` with `socks=socks5`. Login and password are percent-encoded, and IPv6 addresses are ' +
      'in brackets.',
    example: 'http://5svBNZ:iagn2d@185.22.134.250:7330\nsocks5h://Kd82hs:pQ1x9w@185.22.134.250:7331\n',
  },
  csv: {
    description:
      'The fields of `GET /proxies`, with their names in the first line. A cell that a spreadsheet ' +
      'would take for a formula, even a password, begins with an apostrophe, so programs should read ' +
      '`json`.',
    example:
      'id,host,port,login,password,proxy_type,country,version,date_start,date_end,active,descr\r\n' +
      '17,185.22.134.250,7330,5svBNZ,iagn2d,http,ru,6,2026-11-01T12:00:00Z,2026-12-01T12:00:00Z,true,\r\n',
  },
  curl: {
    description:
      'A file for `curl --config`. The first active proxy is used; the others are comments. Without an ' +
      'active one, curl fails, and does not connect directly. `NO_PROXY` has no effect.',
    example:
      '# curl --config curl.conf https://example.com/\n' +
      '# The first active proxy is used; the others are comments.\n' +
      'noproxy = ""\n' +
      'proxy = "http://5svBNZ:iagn2d@185.22.134.250:7330"\n' +
      '# proxy = "socks5h://Kd82hs:pQ1x9w@185.22.134.250:7331"\n',
  },
  proxychains: {
    description:
      'A configuration file of proxychains4, which uses one of the proxies for each connection. ' +
      'It reads the first 512 proxies. A proxy that it cannot read is a comment with the reason: ' +
      '`host` is a name, or login or password is longer than 255 bytes, has a space or, for HTTP, ' +
      'other characters than ASCII.',
    example:
      `${PROXYCHAINS_START}http 185.22.134.250 7330 5svBNZ iagn2d\n` +
      'socks5 185.22.134.250 7331 Kd82hs pQ1x9w\n',
  },
  playwright: {
    description:
      "An array of objects for Playwright's option `proxy`. Chromium cannot log in to a SOCKS5 proxy: " +
      'use HTTP proxies there. Without proxies, the array names one that cannot be connected to.',
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
      'A profile for Clash and mihomo, and a file of their proxy providers. Everything goes through the ' +
      'selected proxy of the group `rented`, which contains the first 1,000 active ones; UDP that the ' +
      'proxy cannot carry is rejected. Programs connect to port 7890. Without an active proxy, no ' +
      'connection can be made.',
    example:
      'mixed-port: 7890\nmode: rule\nproxies:\n' +
      '  - {"name":"ru-17","type":"http","server":"185.22.134.250","port":7330,' +
      '"username":"5svBNZ","password":"iagn2d"}\n' +
      'proxy-groups:\n  - {"name":"rented","type":"select","proxies":["ru-17"]}\n' +
      'rules:\n  - MATCH,rented\n  - MATCH,REJECT\n',
  },
  'sing-box': {
    description:
      'A configuration of sing-box. Everything goes through the first proxy of the selector `rented`, ' +
      'which contains the first 1,000 active ones. Programs connect to port 2080. Without an active ' +
      'proxy, no connection can be made.',
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
