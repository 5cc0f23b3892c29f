import type { LoggerService } from '@nestjs/common';
import { messageOf, stackOf } from '../error-text';

/** Maximum number of names, and of messages per name. Limited because customers can choose names. */
const MOST_REMEMBERED = 100;

/** Logs each distinct error of recurring work once and, after recovery, the number of failures. */
export class FailureLog {
  private readonly failures = new Map<string, { count: number; readonly logged: Set<string> }>();

  constructor(private readonly logger: LoggerService) {}

  failed(work: string, what: string, error: unknown): void {
    if (this.failures.size >= MOST_REMEMBERED && !this.failures.has(work)) this.failures.clear();
    const since = this.failures.get(work) ?? { count: 0, logged: new Set() };
    this.failures.set(work, since);
    since.count += 1;
    const text = messageOf(error);
    if (since.logged.has(text)) return;
    if (since.logged.size >= MOST_REMEMBERED) since.logged.clear();
    since.logged.add(text);
    this.logger.error(`${work}: ${what}`, stackOf(error));
  }

  succeeded(work: string): void {
    const since = this.failures.get(work);
    if (since) this.logger.log(`${work}: works again after ${since.count} failures`);
    this.failures.delete(work);
  }
}
