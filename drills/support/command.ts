export const progress = (line: string): void => void process.stderr.write(`${line}\n`);

export function finish(report: string, violations: readonly string[]): void {
  process.stdout.write(`${report}\n`);
  for (const violation of violations) progress(`BROKEN: ${violation}`);
  if (violations.length > 0) process.exitCode = 1;
}

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
