import { ApiProperty } from '@nestjs/swagger';
import {
  ApiChoice,
  ApiMoment,
  ApiNullable,
  CURSOR,
  LimitField,
  NEXT_CURSOR,
  StrictRequest,
  StringField,
} from '../../http';

/** Changes that `record_proxy_changes()` records. */
export const PROXY_CHANGES = [
  'moved',
  'credentials_changed',
  'type_changed',
  'end_changed',
  'withdrawn',
  'returned',
  'refunded',
] as const;
export const PROXY_EVENTS = ['bought', 'assigned', 'prolonged', ...PROXY_CHANGES] as const;
export type ProxyEventKind = (typeof PROXY_EVENTS)[number];

@StrictRequest()
export class HistoryQuery {
  @StringField({
    description: CURSOR,
    absent: 'null',
    pattern: String.raw`^\d{1,16}\.\d{1,15}$`,
  })
  readonly cursor!: string | null;

  @LimitField()
  readonly limit!: number;
}

export class ProxyEvent {
  @ApiMoment('When the event occurred or was detected')
  at!: Date;

  @ApiChoice(
    PROXY_EVENTS,
    '`bought`; `assigned` (by the shop, free of charge); `prolonged`; `moved` (another host or port); ' +
      '`credentials_changed` (another login or password); `type_changed`; `end_changed` (by the provider); ' +
      '`withdrawn` (by the provider) and `returned`; `refunded` (because it did not work)',
    'prolonged',
  )
  event!: ProxyEventKind;

  @ApiNullable('integer', 'The order that caused the event', 43)
  order_id!: number | null;

  @ApiNullable('string', 'The amount charged for this proxy, in roubles', '3.54')
  price!: string | null;

  @ApiNullable(
    'string',
    'The previous value: the end of the rental for `prolonged` or `end_changed`, `host:port` for ' +
      '`moved`, the type for `type_changed`. `null` if there is none, or if it is no longer known',
    '2026-12-01T12:00:00Z',
  )
  from!: string | null;

  @ApiNullable('string', 'The new value', '2026-12-31T12:00:00Z')
  to!: string | null;
}

export class ProxyHistoryPage {
  @ApiProperty({ type: [ProxyEvent] })
  items!: readonly ProxyEvent[];

  @ApiNullable('string', NEXT_CURSOR, null)
  next_cursor!: string | null;
}
