import { domainError } from '../../common';

/** Thrown if the operator has configured no echo endpoint. */
export class ChecksDisabled extends domainError('not-found', 'Proxy checks are disabled') {}

/** Thrown for requests that belong to no check, so that the route looks as if it did not exist. */
export class NothingToEcho extends domainError('not-found', 'Not Found') {}
