export interface User {
  readonly id: number;
  /** The name that staff gave the user. */
  readonly username: string | null;
  /** The user's own name on the messaging platform, from the last sign-in that had one. */
  readonly telegramUsername: string | null;
  /** The user's id on the messaging platform. */
  readonly tgId: number | null;
  /** Login on the website. */
  readonly webUsername: string | null;
  /** Whether the user has ever opened the companion application. */
  readonly hasApp: boolean;
  readonly createdAt: Date;
  /** While set, all tokens of the user are refused. */
  readonly blockedAt: Date | null;
  readonly blockedReason: string | null;
}
