import { domainError } from '../../common';

/** Thrown if the operator has not configured an echo endpoint. */
export class ChecksDisabled extends domainError('not-found', 'Proxy checks are disabled') {}

/** Thrown for a request that belongs to no check. The response is the same as if the route did not exist. */
export class NothingToEcho extends domainError('not-found', 'Not Found') {}
