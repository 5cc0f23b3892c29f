import { DomainError } from '../../common';

/**
 * Runs the checks of an order. The first refusal ends a real order; a dry run notes it and continues, so that
 * it returns all of them.
 */
export interface Checks {
  readonly run: (check: () => void | Promise<void>) => Promise<void>;
}

export const IN_EARNEST: Checks = { run: async (check) => check() };

/** Notes each refusal once, in the order of the checks. Other errors are thrown. */
export class NotedChecks implements Checks {
  private readonly byDetail = new Map<string, DomainError>();

  get refusals(): readonly DomainError[] {
    return [...this.byDetail.values()];
  }

  /** @returns undefined when the check refuses */
  async run<Result>(check: () => Result | Promise<Result>): Promise<Result | undefined> {
    try {
      return await check();
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
      if (!this.byDetail.has(error.detail)) this.byDetail.set(error.detail, error);
      return undefined;
    }
  }
}
