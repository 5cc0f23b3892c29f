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

/** The blocks of code of a document in one language, in order. */
export const codeBlocks = (path: string, language: string): string[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```(\w+)\n([^]*?)^ *```$/gm)].flatMap(
    ([, indent = '', of, code = '']) =>
      of === language ? [code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')] : [],
  );
