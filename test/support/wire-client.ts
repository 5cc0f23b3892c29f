import { get } from 'node:http';

export interface WireResponse {
  status: number;
  contentType: string;
  text: string;
}

/**
 * A minimal client of the provider's interface, for tests. It uses one connection for each
 * call, without retries or validation.
 */
export class WireClient {
  constructor(
    private readonly baseUrl: string,
    private readonly apiKey: string,
  ) {}

  /** @param call the URL after the key, such as `buy/?count=1&period=7&country=nl` */
  send(call: string): Promise<WireResponse> {
    return new Promise((resolve, reject) => {
      const request = get(`${this.baseUrl}/api/${this.apiKey}/${call}`, { agent: false }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode ?? 0,
            contentType: response.headers['content-type'] ?? '',
            text: Buffer.concat(chunks).toString('utf8'),
          });
        });
      });
      request.on('error', reject);
    });
  }

  async call<T = Record<string, unknown>>(call: string): Promise<T> {
    const json: T = JSON.parse((await this.send(call)).text);
    return json;
  }
}
