/** Progress goes to standard error, results to standard output. */
export const progress = (line: string): void => void process.stderr.write(`${line}\n`);

/** Prints the report of a drill. A violation fails the command. */
export function finish(report: string, violations: readonly string[]): void {
  process.stdout.write(`${report}\n`);
  for (const violation of violations) progress(`BROKEN: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}

/** Runs a drill. An error fails the command; an interrupted drill ends its daemons. */
export async function run(main: () => Promise<void>): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.once(signal, () => process.exit(130));
  }
  try {
    await main();
  } catch (error) {
    progress(error instanceof Error ? (error.stack ?? error.message) : String(error));
    process.exitCode = 1;
  }
}
