import { domainError } from '../../common';
import { RequestInvalid } from '../../http';
import { MAX_TARGETS } from './bulk-target.dto';

export class TooManyTargets extends domainError(
  'bad-request',
  (matching: number) =>
    `The filter matches ${matching} proxies, but a request can include at most ${MAX_TARGETS}`,
) {}

export class TargetMissing extends RequestInvalid {
  constructor() {
    super([{ type: 'missing', loc: ['body', 'proxy_ids'], msg: 'Field required', input: null }]);
  }
}

export class TwoTargets extends RequestInvalid {
  constructor() {
    const msg = 'Value error, send either proxy_ids or filter, not both';
    super([{ type: 'value_error', loc: ['body', 'filter'], msg, input: null }]);
  }
}
