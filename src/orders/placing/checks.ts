import { DomainError } from '../../common';

/**
 * Runs checks of an order that others can follow. In earnest the first that refuses ends the order; a dry run
 * notes the refusal and goes on, so that it returns all of them.
 */
export interface Checks {
  readonly run: (check: () => void | Promise<void>) => Promise<void>;
}

export const IN_EARNEST: Checks = { run: async (check) => check() };

/** Notes each refusal once, in the order of the checks. What is no refusal is thrown. */
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
