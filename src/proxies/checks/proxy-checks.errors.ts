import { domainError } from '../../common';

/** The operator has configured no echo endpoint. */
export class ChecksDisabled extends domainError('not-found', 'Proxy checks are disabled') {}

/** Without a check, the route looks as if it did not exist. */
export class NothingToEcho extends domainError('not-found', 'Not Found') {}
