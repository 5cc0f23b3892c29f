export interface User {
  readonly id: number;
  /** Name that staff gave the user. */
  readonly username: string | null;
  /** Own name on the messaging platform, from the last sign-in that contained one. */
  readonly telegramUsername: string | null;
  /** Id on the messaging platform. */
  readonly tgId: number | null;
  /** Login on the website. */
  readonly webUsername: string | null;
  /** Whether the user has ever opened the companion application. */
  readonly hasApp: boolean;
  readonly createdAt: Date;
  /** When the user was blocked. While this is set, all tokens of the user are refused. */
  readonly blockedAt: Date | null;
  readonly blockedReason: string | null;
  /** Time when staff erased the user's data. */
  readonly deletedAt: Date | null;
}
