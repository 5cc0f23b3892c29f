import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

export interface RequestContext {
  /** The request's id, masked where it looks like a secret. The response header contains the original. */
  readonly requestId: string;
  /** The id of the request's trace, if it is recorded. */
  traceId?: string;
  userId?: string;
  tokenId?: number;
  /** The id of the token that issued the token `tokenId`. */
  issuedBy?: number;
  /** The id of the fetched export link. */
  linkId?: number;
  /** The name of the tool that an agent called. */
  tool?: string;
}

const ACCEPTABLE_ID = /^[\x20-\x7e]{1,128}$/;

/** Matches our secrets by prefix, and other words of at least 40 characters except hexadecimal hashes. */
const SECRET_LIKE = /\w*(?:pr[xl]|whsec)_[\w+/]*|\b(?![\da-f]+\b)\w{40,}/gi;

/** Masks words that look like our secrets, even truncated or mistyped ones. */
export const withoutSecretWords = (text: string): string => text.replace(SECRET_LIKE, '…');

const contexts = new AsyncLocalStorage<RequestContext>();

export function runInRequest<Result>(context: RequestContext, run: () => Result): Result {
  return contexts.run(context, run);
}

/** Returns the current request's id; undefined outside a request, for example in a job. */
export function requestId(): string | undefined {
  return contexts.getStore()?.requestId;
}

/** Returns the id of the current request's trace; undefined if it is not recorded. */
export function traceId(): string | undefined {
  return contexts.getStore()?.traceId;
}

/** Adds the user and the token to the current request's access log line. */
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

/** Adds the export link and its user to the current request's access log line. */
export function setRequestLink(linkId: number, userId: number): void {
  const context = contexts.getStore();
  if (context) Object.assign(context, { linkId, userId: String(userId) });
}

/** Adds an agent's tool to the current request's access log line. */
export function setRequestTool(tool: string): void {
  const context = contexts.getStore();
  if (context) context.tool = tool;
}

/** Returns the id that the caller sent if it is 1 to 128 printable ASCII characters, otherwise a new id. */
export function chooseRequestId(offered: string | undefined): string {
  return offered !== undefined && ACCEPTABLE_ID.test(offered) ? offered : randomUUID();
}
