import { ALL_STAFF_SCOPES, type Scope, TokensService } from '../../src/auth';
import type { TestService } from './test-service';

/** Times become text in JSON. */
export type Json<Value> = Value extends Date
  ? string
  : Value extends object
    ? { readonly [Name in keyof Value]: Json<Value[Name]> }
    : Value;

export interface StaffResponse<Body> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Body;
}

export interface Staff {
  readonly id: number;
  readonly token: string;
  readonly tokenId: number;
  get<Body = Record<string, unknown>>(path: string): Promise<StaffResponse<Body>>;
  change<Body = Record<string, unknown>>(
    method: string,
    path: string,
    body: object,
    headers?: Record<string, string>,
  ): Promise<StaffResponse<Body>>;
  post<Body = Record<string, unknown>>(
    path: string,
    body?: object,
    headers?: Record<string, string>,
  ): Promise<StaffResponse<Body>>;
}

/** @param userId a new user if omitted */
export async function createStaff(
  service: TestService,
  scopes: readonly Scope[] = ALL_STAFF_SCOPES,
  userId?: number,
): Promise<Staff> {
  const id = userId ?? (await service.createUser({ balance: '0.00', scopes: [] })).id;
  const { text, token } = await service.app.get(TokensService).issue({ userId: id, scopes });
  return staffWith(service, id, text, token.id);
}

export function staffWith(service: TestService, id: number, text: string, tokenId: number): Staff {
  const call = async <Body>(path: string, options: RequestInit): Promise<StaffResponse<Body>> => {
    const response = await fetch(service.baseUrl + path, options);
    const isJson = response.headers.get('Content-Type')?.startsWith('application/json');
    return {
      status: response.status,
      headers: response.headers,
      body: (isJson ? await response.json() : await response.text()) as Body,
    };
  };
  const authorization = { Authorization: `Bearer ${text}` };
  const change: Staff['change'] = (method, path, body, headers = {}) =>
    call(path, {
      method: method.toUpperCase(),
      headers: { ...authorization, 'Content-Type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
  return {
    id,
    token: text,
    tokenId,
    get: (path) => call(path, { headers: authorization }),
    change,
    post: (path, body = {}, headers) => change('POST', path, body, headers),
  };
}
