import { execFile } from 'node:child_process';
import { cpus } from 'node:os';
import { promisify } from 'node:util';
import { PROJECT } from '../../drills/support/project';

export { progress, run } from '../../drills/support/command';

export function readCount(option: string, text: string, least = 1): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= least) return value;
  throw new Error(`--${option} must be a whole number, ${least} at least`);
}

export function readNames<Name extends string>(text: string | undefined, known: readonly Name[]): Name[] {
  if (text === undefined) return [...known];
  const names = text.split(',');
  const unknown = names.filter((name) => !known.some((one) => one === name));
  if (unknown.length > 0) {
    throw new Error(`--only has no ${unknown.join(', ')}; there are ${known.join(', ')}`);
  }
  return known.filter((name) => names.includes(name));
}

export interface Report {
  readonly method: string;
  readonly head: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

export async function print({ method, head, rows }: Report): Promise<void> {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, at) => (at < 2 ? '---' : '---:'));
  const lines = [`${await describeRun()}. ${method}`, '', ...[head, rule, ...rows].map(line), ''];
  process.stdout.write(lines.join('\n'));
}

async function describeRun(): Promise<string> {
  const git = async (...parameters: string[]): Promise<string> =>
    (await promisify(execFile)('git', parameters, { cwd: PROJECT })).stdout.trim();
  const [model] = cpus();
  return [
    new Date().toISOString().slice(0, 10),
    `commit ${await git('describe', '--always', '--dirty', '--exclude=*')}`,
    `Node.js ${process.versions.node}`,
    `${cpus().length} cores (${model?.model.trim() ?? 'unknown'}) for load, service, database and sandbox`,
  ].join(', ');
}
