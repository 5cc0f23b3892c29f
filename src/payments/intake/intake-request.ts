import { z } from 'zod';
import { Money } from '../../common';
import { RequestInvalid } from '../../http';

/** Amount in roubles with at most two decimals, as a string or a number. */
const amount = z
  .union([z.string(), z.bigint().transform(String), z.number().transform(String)])
  .pipe(z.string().regex(/^([1-9]\d{0,11}(\.\d{1,2})?|0\.(0[1-9]|[1-9]\d?))$/))
  .transform((text) => Money.parse(text).toString());

/** Integers in a request body arrive as BigInt. */
const id = z.union([z.bigint().transform(Number), z.number()]).pipe(z.int().positive());

/** Replaces NULs and lone surrogates, because PostgreSQL cannot store them. */
const storable = z.string().transform((text) => Buffer.from(text).toString().replaceAll('\0', '\uFFFD'));
const name = z.string().min(1).max(100).pipe(storable);

const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine((time) => time.getUTCFullYear() >= 1 && time.getUTCFullYear() <= 9999);

/** The parsed request is hashed to recognise retries, so equal payments must parse to equal values. */
const schema = z.strictObject({
  // A second payment with the same reference is stored with a space and a hash appended to it, so the
  // reference itself must not contain a space.
  reference: z.string().regex(/^[!-~]{1,200}$/),
  user: z.union([z.strictObject({ id }), z.strictObject({ tg_id: id }), z.strictObject({ username: name })]),
  amount,
  paid_at: moment,
  comment: z
    .string()
    .max(500)
    .pipe(storable)
    .nullish()
    .transform((read) => read || undefined),
});

export type IntakeRequest = z.output<typeof schema>;

/** @throws RequestInvalid */
export function readIntake(body: unknown): IntakeRequest {
  const { data, error } = schema.safeParse(body);
  if (data) return data;
  throw new RequestInvalid(
    error.issues.map(({ path, message }) => ({
      type: 'value_error',
      loc: ['body', ...path.map((part) => (typeof part === 'number' ? part : String(part)))],
      msg: message,
    })),
  );
}
