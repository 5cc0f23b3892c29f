import { domainError } from '../../common';

/** The operator has configured no judge. */
export class ChecksDisabled extends domainError('not-found', 'Proxy checks are disabled') {}

/** Without a trial, the judge's route looks as if it did not exist. */
export class NothingToJudge extends domainError('not-found', 'Not Found') {}
