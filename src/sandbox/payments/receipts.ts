import { z } from 'zod';
import { PaymentWireError } from './wire-error';

const MODES = [
  'full_prepayment',
  'partial_prepayment',
  'advance',
  'full_payment',
  'partial_payment',
  'credit',
  'credit_payment',
] as const;

interface CashRegister {
  readonly modes: readonly (typeof MODES)[number][];
  readonly needsMeasure: boolean;
  readonly needsTaxSystem: boolean;
}

const register = (needs: Partial<CashRegister>): CashRegister => ({
  modes: MODES,
  needsMeasure: false,
  needsTaxSystem: false,
  ...needs,
});

/** `docs/payments.md` lists the sources of these requirements. */
const CASH_REGISTERS = {
  /** The payment provider's own register, "Чеки от ЮKassa". */
  yookassa: register({ modes: ['full_prepayment', 'full_payment'], needsMeasure: true }),
  'ffd-1.05': register({}),
  'ffd-1.2': register({ needsMeasure: true }),
  'atol-ffd-1.2': register({ needsMeasure: true, needsTaxSystem: true }),
} as const;

export type CashRegisterKind = keyof typeof CASH_REGISTERS;

export const isCashRegisterKind = (text: string): text is CashRegisterKind =>
  Object.hasOwn(CASH_REGISTERS, text);

/** Accepts only the terms of 54-FZ that the service uses. */
const schema = z.strictObject({
  // Domain names are sent in ASCII.
  customer: z.strictObject({
    email: z
      .string()
      .regex(/^[\x21-\x7e]+@[a-z\d.-]+\.[a-z\d-]+$/i)
      .max(254),
  }),
  tax_system_code: z.int().min(1).max(6).optional(),
  items: z
    .array(
      z.strictObject({
        description: z.string().min(1).max(128),
        quantity: z.literal('1.00'),
        measure: z.literal('piece').optional(),
        amount: z.strictObject({ value: z.string().regex(/^\d+\.\d\d$/), currency: z.literal('RUB') }),
        vat_code: z.int().min(1).max(12),
        payment_mode: z.enum(MODES),
        payment_subject: z.enum([
          'commodity',
          'job',
          'service',
          'intellectual_activity',
          'payment',
          'agent_commission',
          'property_right',
          'composite',
          'another',
        ]),
      }),
    )
    .length(1),
});

export type Receipt = z.output<typeof schema>;

const refused = (...parameter: readonly string[]): PaymentWireError =>
  new PaymentWireError(
    400,
    'invalid_request',
    "Invalid parameter's value. Send the value in accordance with the documentation",
    ['receipt', ...parameter].join('.'),
  );

/**
 * @throws PaymentWireError if the receipt is incomplete, its total differs, or it does not match the cash
 * register
 */
export function readReceipt(
  given: unknown,
  amount: { readonly value: string },
  kind: CashRegisterKind | null,
): Receipt | undefined {
  if (given === undefined) return undefined;
  const { data, error } = schema.safeParse(given);
  if (!data) throw refused(...(error.issues[0]?.path.filter((part) => typeof part === 'string') ?? []));
  const [item] = data.items;
  if (item?.amount.value !== amount.value) throw refused('items', 'amount');
  if (kind === null) return data;
  const { modes, needsMeasure, needsTaxSystem } = CASH_REGISTERS[kind];
  if (!modes.includes(item.payment_mode)) throw refused('items', 'payment_mode');
  if (needsMeasure && item.measure === undefined) throw refused('items', 'measure');
  if (needsTaxSystem && data.tax_system_code === undefined) throw refused('tax_system_code');
  return data;
}

export const missingReceipt = (): PaymentWireError =>
  new PaymentWireError(400, 'invalid_request', 'Receipt is missing or illegal', 'receipt');
