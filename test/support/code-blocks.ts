import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** The paths of the documents. */
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
  /** The word after the language, which no reader sees. */
  readonly mark: string | undefined;
  readonly code: string;
}

/** The blocks of code of a document, in order. */
export const blocksOf = (path: string): CodeBlock[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```(\w+)(?: (\S+))?\n([^]*?)^ *```$/gm)].map(
    ([, indent = '', language = '', mark, code = '']) => ({
      language,
      mark,
      code: code.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
    }),
  );

/** The code of the blocks in one language, in order. */
export const codeBlocks = (path: string, language: string): string[] =>
  blocksOf(path).flatMap((block) => (block.language === language ? [block.code] : []));
