import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(__dirname, '..', '..');

/** The blocks of code of a document in one language, in order. */
export const codeBlocks = (path: string, language: string): string[] =>
  [...readFileSync(join(ROOT, path), 'utf8').matchAll(/^( *)```(\w+)\n([^]*?)^ *```$/gm)].flatMap(
    ([, indent = '', of, code = '']) =>
      of === language ? [code.replaceAll(new RegExp(`^${indent}`, 'gm'), '')] : [],
  );
