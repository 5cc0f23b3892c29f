import { type RawResponse, sendRaw } from './raw-http';

/** Sends each call on its own connection, without retries or validation. */
export class WireClient {
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  /** @param call the URL after the key, such as `buy/?count=1&period=7&country=nl` */
  send(call: string): Promise<RawResponse> {
    return sendRaw(this.baseUrl, { path: `/api/${this.apiKey}/${call}`, headers: { connection: 'close' } });
  }

  async call<T = Record<string, unknown>>(call: string): Promise<T> {
    return (await this.send(call)).json() as T;
  }
}
