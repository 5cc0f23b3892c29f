import type { ProxyOut } from './dto/proxy-out.dto';

/** One `host:port:login:password` a line. */
export async function* asText(batches: AsyncIterable<ProxyOut[]>): AsyncGenerator<string> {
  for await (const batch of batches) {
    yield batch.map(({ host, port, login, password }) => `${host}:${port}:${login}:${password}\n`).join('');
  }
}

/** One JSON array, as `GET /proxies` answers it. */
export async function* asJson(batches: AsyncIterable<ProxyOut[]>): AsyncGenerator<string> {
  let before = '[';
  for await (const batch of batches) {
    yield before + batch.map((proxy) => JSON.stringify(proxy)).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}
