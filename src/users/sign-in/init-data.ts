import { validate } from '@telegram-apps/init-data-node';
import { z } from 'zod';
import { jsonOrUndefined } from '../../common';
import { InitDataTooOld, InvalidInitData } from './sign-in.errors';

/** Person who opened the Mini App, according to Telegram. */
export interface TelegramUser {
  readonly tgId: number;
  readonly username: string | null;
}

/** Maximum difference between Telegram's clock and this machine's. */
const MAX_SKEW_SECONDS = 60;

const user = z.object({
  id: z.int().positive(),
  username: z
    .string()
    .regex(/^\w{1,64}$/)
    .nullable()
    .catch(null)
    .default(null),
});

/**
 * Reads `Telegram.WebApp.initData`.
 * @throws InitDataTooOld; InvalidInitData for data of another bot, from the future, or without a user
 */
export function readInitData(
  text: string,
  { botToken, maxAgeSeconds, now }: { botToken: string; maxAgeSeconds: number; now: Date },
): TelegramUser {
  const fields = new URLSearchParams(text);
  if (!isUnambiguous(fields) || !isSigned(fields, botToken)) throw new InvalidInitData();
  const signedAt = fields.get('auth_date') ?? '';
  if (!/^\d{1,12}$/.test(signedAt)) throw new InvalidInitData();
  const ageSeconds = now.getTime() / 1000 - Number(signedAt);
  if (ageSeconds < -MAX_SKEW_SECONDS) throw new InvalidInitData();
  if (ageSeconds > maxAgeSeconds) throw new InitDataTooOld();
  const { data } = user.safeParse(jsonOrUndefined(fields.get('user') ?? ''));
  if (!data) throw new InvalidInitData();
  return { tgId: data.id, username: data.username };
}

/** Whether the signed lines of `name=value` can be read in only one way. */
function isUnambiguous(fields: URLSearchParams): boolean {
  const names = [...fields.keys()];
  const isOneLine = [...fields].every(([name, value]) => !name.includes('=') && !/\n/.test(name + value));
  return isOneLine && new Set(names).size === names.length;
}

function isSigned(fields: URLSearchParams, botToken: string): boolean {
  try {
    // The library would compare the age with the machine's clock, which tests do not control.
    validate(fields, botToken, { expiresIn: 0 });
    return true;
  } catch {
    return false;
  }
}
