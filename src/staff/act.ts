import type { Caller } from '../auth';

/** What can be acted on. */
export const TARGET_TYPES = ['user', 'token', 'order', 'orphan', 'price-rule'] as const;
export type TargetType = (typeof TARGET_TYPES)[number];

export interface Target {
  readonly type: TargetType;
  readonly id: number | string;
}

const TARGET = new RegExp(`^(${TARGET_TYPES.join('|')}):([0-9]+)$`);
/** `user:42` */
export const TARGET_PATTERN = TARGET.source;

/** Null when it is no target. */
export function parseTarget(text: string): Target | null {
  const [, name, id] = TARGET.exec(text) ?? [];
  const type = TARGET_TYPES.find((one) => one === name);
  return type && id !== undefined ? { type, id } : null;
}

/** What a member of staff is about to do: who it is, from where, and what they ask for. */
export class Act {
  /** Whether the log has it: reads are written by the interceptor, changes together with what they change. */
  isLogged = false;

  constructor(
    readonly action: string,
    readonly target: Target | null,
    readonly request: object,
    /** Null on the command line, where everything may be granted. */
    readonly caller: Caller | null,
    readonly ip: string | null,
    readonly requestId: string | null,
  ) {}

  /** On the command line. */
  static onCommandLine(action: string, target: Target | null, request: object): Act {
    return new Act(action, target, loggable(request), null, null, null);
  }
}

const TOKEN = /prx_[0-9A-Za-z]{20,}/g;

/**
 * A request as the log keeps it: whole, so that nothing can be hidden behind what is not asked for, and no longer than HTTP lets it be; without the text
 * of a token, should someone paste one; nothing that `jsonb` refuses.
 */
export function loggable(request: object): object {
  const text = JSON.stringify(request, (_, value: unknown) =>
    typeof value === 'bigint' ? value.toString() : value,
  ).replaceAll(TOKEN, 'prx_…');
  // JSON can name characters that PostgreSQL's does not take: NUL, and halves of a pair.
  return JSON.parse(
    text.replaceAll(/(?<!\\)((?:\\\\)*)\\u(?:0000|d[89a-f][0-9a-f]{2})/gi, '$1\\ufffd'),
  ) as object;
}
