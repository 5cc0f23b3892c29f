import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

export const DOCUMENTS: readonly string[] = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'SECURITY.md',
  'operations/backup.md',
  'clients/typescript/README.md',
  ...readdirSync(join(ROOT, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

export interface CodeBlock {
  readonly language: string;
  /** The word after the language, which readers do not see. */
  readonly mark: string | undefined;
  readonly code: string;
}

export const blocksOf = (path: string): CodeBlock[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```(\w+)(?: (\S+))?\n([^]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', mark, code = '']) => ({
      language,
      mark,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );

export const codeBlocks = (path: string, language: string): string[] =>
  blocksOf(path).flatMap((block) => (block.language === language ? [block.code] : []));
