import type { Caller } from '../../auth';
import { OwnAccount } from '../staff.errors';

export const ID_PARAMETERS = {
  user: 'user_id',
  token: 'token_id',
  order: 'order_id',
  'unmatched-proxy': 'unmatched_proxy_id',
  'found-prolongation': 'prolongation_id',
  'price-rule': 'rule_id',
  webhook: 'webhook_id',
  refund: 'refund_id',
} as const;
export type TargetType = keyof typeof ID_PARAMETERS;

export interface AuditTarget {
  readonly type: TargetType;
  readonly id: number | string;
}

const TARGET = new RegExp(`^(${Object.keys(ID_PARAMETERS).join('|')}):([0-9]+)$`);
/** Matches targets such as `user:42`. */
export const TARGET_PATTERN = TARGET.source;

export function parseTarget(text: string): AuditTarget | null {
  const [, type, id] = TARGET.exec(text) ?? [];
  return type === undefined || id === undefined ? null : { type: type as TargetType, id };
}

/** The parts of an audit log record that come from the request: author, origin and target. */
export class AuditContext {
  /** True once a change has been recorded in its own transaction: the request must not be recorded again. */
  isRecorded = false;

  constructor(
    readonly action: string,
    readonly target: AuditTarget | null,
    readonly request: object,
    /** `null` on the command line, which may grant every scope. */
    readonly caller: Caller | null,
    readonly ip: string | null,
    readonly requestId: string | null,
    /** Author named on the command line. */
    readonly by?: string,
  ) {}

  /** @throws OwnAccount */
  assertConcernsAnother(userId: number | null | undefined): void {
    if (this.caller !== null && this.caller.userId === userId) throw new OwnAccount();
  }

  static ofCommandLine(action: string, request: object): AuditContext {
    return new AuditContext(action, null, toRecordable(request), null, null, null);
  }
}

/** Matches tokens, and the secrets of links and webhooks. */
const SECRET = /(pr[xl]_|whsec_)[0-9A-Za-z+/]{20,}=*/g;

/** Keeps all parameters, even those that no route reads, and masks secrets. */
export function toRecordable(request: object): object {
  const text = JSON.stringify(request, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  ).replaceAll(SECRET, '$1…');
  // jsonb rejects NUL and unpaired surrogates.
  return JSON.parse(
    text.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, '$1\\ufffd'),
  ) as object;
}
