import { domainError } from '../../common';

/** The operator has named no judge. */
export class TrialsSwitchedOff extends domainError('not-found', 'Checks of proxies are switched off') {}

/** Whoever asks the judge without a trial learns nothing, as if it were not there. */
export class NothingToJudge extends domainError('not-found', 'Not Found') {}
