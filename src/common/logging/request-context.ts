import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

/** The request that the running code serves. */
export interface RequestContext {
  /** Without words that look like a secret. Only the header of the response has the caller's own text. */
  readonly requestId: string;
  /** The id of its trace, if that is recorded. */
  traceId?: string;
  userId?: string;
  tokenId?: number;
  /** The token that issued that token. */
  issuedBy?: number;
  /** The secret link that was fetched. */
  linkId?: number;
  /** The tool that an agent called. */
  tool?: string;
}

const ACCEPTABLE_ID = /^[\x20-\x7e]{1,128}$/;

/** Secrets of ours have these prefixes. Without theirs, only they are that long, except for hashes. */
const SECRET_LIKE = /\w*(?:pr[xl]|whsec)_[\w+/]*|\b(?![\da-f]+\b)\w{40,}/gi;

/** Masks words that look like a secret of ours, even if it is cut or mistyped. */
export const withoutSecretWords = (text: string): string => text.replace(SECRET_LIKE, '…');

const contexts = new AsyncLocalStorage<RequestContext>();

export function runInRequest<Result>(context: RequestContext, run: () => Result): Result {
  return contexts.run(context, run);
}

/** The id of the current request; undefined outside of one, for example in a job. */
export function requestId(): string | undefined {
  return contexts.getStore()?.requestId;
}

/** The id of the current request's trace; undefined if it is not recorded. */
export function traceId(): string | undefined {
  return contexts.getStore()?.traceId;
}

/** Names the user, and the token with its issuer, in the access log line of the current request. */
export function setRequestUser(
  userId: string | number,
  token?: { readonly tokenId: number; readonly issuedBy: number | null },
): void {
  const context = contexts.getStore();
  if (!context) return;
  context.userId = String(userId);
  if (token) context.tokenId = token.tokenId;
  if (token && token.issuedBy !== null) context.issuedBy = token.issuedBy;
}

/** Names the secret link, and its user, in the access log line of the current request. */
export function setRequestLink(linkId: number, userId: number): void {
  const context = contexts.getStore();
  if (context) Object.assign(context, { linkId, userId: String(userId) });
}

/** Names the tool that an agent called, in the access log line of the current request. */
export function setRequestTool(tool: string): void {
  const context = contexts.getStore();
  if (context) context.tool = tool;
}

/** The caller's id if it is 1 to 128 printable ASCII characters, else a new one. */
export function chooseRequestId(offered: string | undefined): string {
  return offered !== undefined && ACCEPTABLE_ID.test(offered) ? offered : randomUUID();
}
