import { ApiProperty } from '@nestjs/swagger';
import { ApiMoment, ApiNullable, PageOf } from '../../http';
import { PROXY_CHECK_REASONS, type ProxyCheckReason } from './verdict';

export class ProxyCheckOut {
  @ApiProperty({
    anyOf: [{ type: 'boolean' }, { type: 'null' }],
    description:
      'Whether the proxy relayed a request to the echo endpoint, and the response back, without ' +
      'revealing the client. `false` only if the proxy is at fault; `null` if this is unknown',
    example: true,
  })
  works!: boolean | null;

  @ApiNullable(
    PROXY_CHECK_REASONS,
    'The reason: `refused` (no connection to the proxy), `wrong-login` (or the rental has ended), ' +
      '`timeout` (7 seconds), `closed` (the proxy closed the connection), `echo-unreachable` (the proxy ' +
      'cannot reach the echo endpoint), `wrong-response` (something else responded), ' +
      '`leaks-forwarded-for` (it reveals its client). If `works` is `true`: null, or `exit-differs` if ' +
      'the exit address has changed since the last check. If `works` is `null`: `echo-down` (the echo ' +
      "endpoint does not respond without the proxy either, or not over the proxy's IP version), " +
      '`network-down` (the service could not resolve or route to the host)',
    null,
  )
  reason!: ProxyCheckReason | null;

  @ApiNullable(
    'string',
    'The address that the echo endpoint saw. `null` if it was not reached',
    '203.0.113.7',
  )
  exit_address!: string | null;

  @ApiNullable('integer', 'Time to open the TCP connection to the proxy, in milliseconds', 34)
  connect_ms!: number | null;

  @ApiNullable(
    'integer',
    'Time from the start of the check to the first byte of the response, in milliseconds',
    182,
  )
  first_byte_ms!: number | null;

  @ApiMoment('When the check ended')
  checked_at!: Date;
}

export class ProxyChecksPage extends PageOf(ProxyCheckOut) {}
