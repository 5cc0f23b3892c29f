export interface User {
  readonly id: number;
  readonly username: string | null;
  /** Username in the last sign-in that contained one. */
  readonly telegramUsername: string | null;
  readonly tgId: number | null;
  readonly webUsername: string | null;
  readonly hasApp: boolean;
  readonly createdAt: Date;
  /** While this is set, all tokens of the user are refused. */
  readonly blockedAt: Date | null;
  readonly blockedReason: string | null;
  /** When staff erased the user's data. */
  readonly deletedAt: Date | null;
}
