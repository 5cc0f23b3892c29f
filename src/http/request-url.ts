import { withoutSecretWords } from '../common';

const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i;
/** Matches a path that normalization would not change. */
const NORMAL_PATH = /^(?:\/[\w.~-]*)+(?:\?[^#]*)?$/;
const ESCAPED_BYTES = /(?:%[0-9a-f]{2})+/gi;

/** Makes Express route like an ASGI server: malformed escapes are literal, and invalid UTF-8 is replaced. */
export function toNormalUrl(url: string): string {
  if (NORMAL_PATH.test(url)) return url;
  const [target = ''] = url.replace(ORIGIN, '').split('#', 1);
  const queryStart = target.indexOf('?');
  const path = queryStart < 0 ? target : target.slice(0, queryStart);
  const query = queryStart < 0 ? '' : target.slice(queryStart);
  const normalPath = decode(path).split('/').map(encodeURIComponent).join('/');
  return (normalPath || '/') + query;
}

/** Matches paths that contain a link's secret or a token, even if mistyped. */
const SECRET_PATH = /^(\/+(?:l|api)\/).*/is;

export const withoutSecrets = (path: string): string => withoutSecretWords(path.replace(SECRET_PATH, '$1…'));

/** Reads a query string as Starlette does: blank values are kept, and the last of duplicate names wins. */
export function parseQuery(text: string | null | undefined): Record<string, string> {
  const query: Record<string, string> = Object.create(null);
  for (const pair of (text ?? '').split('&')) {
    if (pair === '') continue;
    const [name = '', ...value] = pair.replaceAll('+', ' ').split('=');
    query[decode(name)] = decode(value.join('='));
  }
  return query;
}

function decode(text: string): string {
  return text.replace(ESCAPED_BYTES, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}
