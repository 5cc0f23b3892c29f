import { excelWriter } from '../../common';
import type { ProxyOut } from '../dto/proxy-out.dto';
import { PROXY_CSV_START, proxyCsvLine } from './proxy-csv';
import { type SocksScheme, urlOf } from './proxy-url';
import { PROXYCHAINS_START, proxychainsLine } from './proxychains';
import { compileTemplate } from './template';
import { clashObject, proxyName, playwrightObject, singBoxObject, toYaml } from './tool-objects';

export interface ExportFormat {
  readonly contentType: string;
  readonly fileName: string;
  readonly start: string;
  readonly separator: string;
  readonly end: string;
  /** Text of an export without proxies; defaults to `start` and `end`. */
  readonly empty?: string;
  /** PostgreSQL writes `json` and `lines`, because it is several times as fast as Node. */
  readonly write: 'json' | 'lines' | ((proxy: ProxyOut) => string);
}

const TEXT = 'text/plain; charset=utf-8';
const JSON_TYPE = 'application/json';
const lines = (write: ExportFormat['write'], start = ''): Omit<ExportFormat, 'fileName' | 'contentType'> => ({
  start,
  separator: '',
  end: '',
  write,
});

const excel = excelWriter();

/** Placeholder that refuses connections: without a proxy, some tools would connect directly. */
const NO_PROXY: ProxyOut = {
  id: '0',
  host: 'no-active-proxy.invalid',
  port: '1',
  login: 'none',
  password: 'none',
  proxy_type: 'http',
  country: 'none',
  version: '4',
  date_start: null,
  date_end: null,
  active: false,
  descr: null,
};

/** Creates a format that can write only one file, because each line depends on earlier ones. */
function curlFormat(): ExportFormat {
  let isChosen = false;
  const line = (proxy: ProxyOut): string => `proxy = "${urlOf(proxy)}"\n`;
  return {
    contentType: TEXT,
    fileName: 'curl.conf',
    start:
      '# curl --config curl.conf https://example.com/\n' +
      '# The first active proxy is used; the others are comments.\n' +
      // Without this line, NO_PROXY in the environment makes curl connect directly.
      'noproxy = ""\n',
    separator: '',
    get end() {
      return isChosen ? '' : line(NO_PROXY);
    },
    write: (proxy) => {
      if (isChosen || !proxy.active) return `# ${line(proxy)}`;
      isChosen = true;
      return line(proxy);
    },
  };
}

/** Small enough for a user to choose from, and for us to keep in memory while a slow client reads. */
const MAX_IN_GROUP = 1000;
/** No proxy has this name, because the names of proxies contain an id. */
const GROUP = 'rented';

interface Profile extends Omit<ExportFormat, 'end' | 'empty' | 'write'> {
  readonly write: (proxy: ProxyOut) => string;
  readonly endWith: (group: readonly string[]) => string;
}

/**
 * Creates a format for one file. The file ends with a group that contains the active proxies or, if there are
 * none, a placeholder.
 */
function profileFormat({ endWith, ...profile }: Profile): ExportFormat {
  const { separator, write } = profile;
  const group: string[] = [];
  let isEmpty = true;
  return {
    ...profile,
    get end() {
      if (group.length > 0) return endWith(group);
      return `${isEmpty ? '' : separator}${write(NO_PROXY)}${endWith([proxyName(NO_PROXY)])}`;
    },
    write: (proxy) => {
      isEmpty = false;
      if (proxy.active && group.length < MAX_IN_GROUP) group.push(proxyName(proxy));
      return write(proxy);
    },
  };
}

const clashFormat = (): ExportFormat =>
  profileFormat({
    contentType: 'application/yaml',
    fileName: 'clash.yaml',
    start: 'mixed-port: 7890\nmode: rule\nproxies:\n',
    separator: '',
    write: (proxy) => `  - ${clashObject(proxy)}\n`,
    endWith: (proxies) =>
      `proxy-groups:\n  - ${toYaml({ name: GROUP, type: 'select', proxies })}\n` +
      // Without `REJECT`, UDP packets that the proxy cannot carry would be sent directly.
      `rules:\n  - MATCH,${GROUP}\n  - MATCH,REJECT\n`,
  });

const singBoxFormat = (): ExportFormat =>
  profileFormat({
    contentType: JSON_TYPE,
    fileName: 'sing-box.json',
    start:
      '{"inbounds":[{"type":"mixed","listen":"127.0.0.1","listen_port":2080}],\n' +
      `"route":{"final":"${GROUP}"},\n"outbounds":[\n`,
    separator: ',\n',
    write: singBoxObject,
    endWith: (outbounds) => `,\n${JSON.stringify({ type: 'selector', tag: GROUP, outbounds })}\n]}\n`,
  });

const FORMATS = {
  json: {
    contentType: JSON_TYPE,
    fileName: 'proxies.json',
    start: '[',
    separator: ',',
    end: ']',
    write: 'json',
  },
  txt: { contentType: TEXT, fileName: 'proxies.txt', ...lines('lines') },
  url: { contentType: TEXT, fileName: 'proxies.txt', ...lines((proxy) => `${urlOf(proxy)}\n`) },
  csv: {
    contentType: 'text/csv; charset=utf-8',
    fileName: 'proxies.csv',
    ...lines(proxyCsvLine, PROXY_CSV_START),
  },
  /** Format of `csv` with `?excel=true`. */
  excel: {
    contentType: 'text/csv; charset=utf-8',
    fileName: 'proxies.csv',
    ...lines((proxy) => excel(proxyCsvLine(proxy)), excel(PROXY_CSV_START)),
  },
  get curl() {
    return curlFormat();
  },
  proxychains: {
    contentType: TEXT,
    fileName: 'proxychains.conf',
    ...lines(proxychainsLine, PROXYCHAINS_START),
  },
  playwright: {
    contentType: JSON_TYPE,
    fileName: 'playwright.json',
    start: '[\n',
    separator: ',\n',
    end: '\n]\n',
    empty: `[\n${playwrightObject(NO_PROXY)}\n]\n`,
    write: playwrightObject,
  },
  get clash() {
    return clashFormat();
  },
  get 'sing-box'() {
    return singBoxFormat();
  },
} as const satisfies Record<string, ExportFormat>;

type AnyFormat = keyof typeof FORMATS;
export type FormatName = Exclude<AnyFormat, 'excel'>;

export const FORMAT_NAMES = Object.keys(FORMATS).filter((name) => name !== 'excel') as readonly FormatName[];

export interface ExportLayout {
  readonly format: AnyFormat;
  /** Replaces the format. */
  readonly template: string | null;
  /** Scheme for `url` and templates. Default: `socks5h`. */
  readonly socks?: SocksScheme | undefined;
}

/** @throws TemplateMistake */
export function formatOf({ format, template, socks }: ExportLayout): ExportFormat {
  if (template !== null) return { ...FORMATS.url, write: compileTemplate(template, socks) };
  return format === 'url' ? { ...FORMATS.url, write: (one) => `${urlOf(one, socks)}\n` } : FORMATS[format];
}
