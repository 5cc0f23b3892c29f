import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';

export interface RequestContext {
  /** The request's id, masked where it looks like a secret. The response header contains the original. */
  readonly requestId: string;
  traceId?: string;
  userId?: string;
  tokenId?: number;
  /** Id of the token that issued the token `tokenId`. */
  issuedBy?: number;
  /** Id of the export link. */
  linkId?: number;
  tool?: string;
}

const ACCEPTABLE_ID = /^[\x20-\x7e]{1,128}$/;

/** Matches our secrets by prefix, and other words of at least 40 characters except hexadecimal hashes. */
const SECRET_LIKE = /\w*(?:pr[xl]|whsec)_[\w+/]*|\b(?![\da-f]+\b)\w{40,}/gi;

export const withoutSecretWords = (text: string): string => text.replace(SECRET_LIKE, '…');

const contexts = new AsyncLocalStorage<RequestContext>();

export function runInRequest<Result>(context: RequestContext, run: () => Result): Result {
  return contexts.run(context, run);
}

export function requestId(): string | undefined {
  return contexts.getStore()?.requestId;
}

export function traceId(): string | undefined {
  return contexts.getStore()?.traceId;
}

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

export function setRequestLink(linkId: number, userId: number): void {
  const context = contexts.getStore();
  if (context) Object.assign(context, { linkId, userId: String(userId) });
}

export function setRequestTool(tool: string): void {
  const context = contexts.getStore();
  if (context) context.tool = tool;
}

export function chooseRequestId(offered: string | undefined): string {
  return offered !== undefined && ACCEPTABLE_ID.test(offered) ? offered : randomUUID();
}
