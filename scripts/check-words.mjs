// Searches Markdown for the words of scripts/banned-words.txt.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

process.chdir(join(import.meta.dirname, '..'));

const banned = readFileSync('scripts/banned-words.txt', 'utf8')
  .split('\n')
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => {
    const [pattern, instead] = line.split(' => ');
    // As in many search tools: a capital makes the pattern sensitive to case.
    const flags = /(?<!\\)[A-Z]/.test(pattern) ? 'gm' : 'gim';
    return { pattern: new RegExp(pattern, flags), instead };
  });

const list = (...patterns) =>
  execFileSync('git', ['ls-files', ...patterns], { encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(path));

// The changelog keeps the words of its time; the two references are generated from the texts of the code.
const texts = list('*.md')
  .filter((path) => !['CHANGELOG.md', 'docs/configuration.md', 'docs/metrics.md'].includes(path))
  .flatMap(proseOfMarkdown);
const found = texts.flatMap(({ path, line, text }) =>
  banned.flatMap(({ pattern, instead }) =>
    [...text.matchAll(pattern)].map((match) => {
      const lineOfMatch = line + text.slice(0, match.index).split('\n').length - 1;
      return `${path}:${lineOfMatch}: "${match[0].trim()}": ${instead}`;
    }),
  ),
);
for (const one of found) console.error(one);
if (found.length > 0) process.exitCode = 1;

/** Blocks of code are blanked, and so are quotations in backticks. Paragraphs stay together. */
function proseOfMarkdown(path) {
  const blank = (text) => text.replaceAll(/[^\n]/g, ' ');
  const text = readFileSync(path, 'utf8')
    .replaceAll(/^```[^]*?^```/gm, blank)
    .replaceAll(/`[^`\n]*`/g, blank);
  return [{ path, line: 1, text }];
}
