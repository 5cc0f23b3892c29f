/** Progress goes to standard error, results to standard output. */
export const progress = (line: string): void => void process.stderr.write(`${line}\n`);

/** Runs a drill. What it throws fails the command; an interrupted drill ends its daemons. */
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
