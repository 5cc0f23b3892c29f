import type { Caller } from '../../auth';
import { OwnAccount } from '../staff.errors';

/** What staff can act on. */
export const TARGET_TYPES = [
  'user',
  'token',
  'order',
  'orphan',
  'found-prolongation',
  'price-rule',
  'webhook',
] as const;
export type TargetType = (typeof TARGET_TYPES)[number];

export interface AuditTarget {
  readonly type: TargetType;
  readonly id: number | string;
}

const TARGET = new RegExp(`^(${TARGET_TYPES.join('|')}):([0-9]+)$`);
/** Matches `user:42`. */
export const TARGET_PATTERN = TARGET.source;

/** Reads `user:42`; null when the text names no target. */
export function parseTarget(text: string): AuditTarget | null {
  const [, name, id] = TARGET.exec(text) ?? [];
  const type = TARGET_TYPES.find((known) => known === name);
  return type && id !== undefined ? { type, id } : null;
}

/** What the audit log keeps of one request: who makes it, from where, and what for. */
export class AuditContext {
  /** Changes are recorded in their own transaction; the interceptor records what is left, which are reads. */
  isRecorded = false;

  constructor(
    readonly action: string,
    readonly target: AuditTarget | null,
    readonly request: object,
    /** Null on the command line, where nobody signs in and every scope may be granted. */
    readonly caller: Caller | null,
    readonly ip: string | null,
    readonly requestId: string | null,
    /** The author of a change on the command line that keeps one. */
    readonly by?: string,
  ) {}

  /** Refuses what a member of staff would do for their own account. @throws OwnAccount */
  assertConcernsAnother(userId: number | null | undefined): void {
    if (this.caller !== null && this.caller.userId === userId) throw new OwnAccount();
  }

  static ofCommandLine(action: string, request: object): AuditContext {
    return new AuditContext(action, null, toRecordable(request), null, null, null);
  }
}

/** Tokens, and the secrets of webhooks. */
const SECRET = /(prx_|whsec_)[0-9A-Za-z+/]{20,}=*/g;

/**
 * The request as the audit log keeps it. It is whole, so that nothing can be hidden behind parameters that no
 * route reads; secrets that were pasted into it are masked, and so is what `jsonb` refuses.
 */
export function toRecordable(request: object): object {
  const text = JSON.stringify(request, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  ).replaceAll(SECRET, '$1…');
  // JSON can hold characters that PostgreSQL's jsonb does not take: NUL, and unpaired surrogates.
  return JSON.parse(
    text.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, '$1\\ufffd'),
  ) as object;
}
