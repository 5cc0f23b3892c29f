// Searches comments, decisions and the documents of engineers for names of files, functions, fields and
// tables that no code contains. Names without capitals or underscores are not recognized as names.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

process.chdir(join(import.meta.dirname, '..'));

/** Names of other programs. */
const FOREIGN = 'AuthGuard GitHub OpenAI PromQL TypeORM buy_proxies multipleOf setDefaultValue'.split(' ');
const IS_POSTGRES = /^pg_/;

const IS_CODE = /\.(?:ts|sql|mjs|cjs)$/;
const IS_GENERATED = /api-types\.ts$/;
const IS_DOCUMENT = /^(?:docs\/(?:decisions\/\d|architecture).*|CONTRIBUTING)\.md$/;
/** Code in documents, and alternatives that were rejected. */
const NOT_OURS = /^```[^]*?^```|^## Rejected$[^]*?(?=^## |(?![^]))/gm;
const COMMENT = /\/\*\*?\s[^]*?\*\/|(?:^ *(?:\/\/|--) .*\n)+/gm;
const QUOTED = /`([^`\n]*)`/g;
const FILE = /(?<![\w*….-])[\w][\w./-]*\.(?:ts|sql|mjs|cjs)\b/g;
/** Words in camel case or with underscores, but no parts of a path. */
const WORDS = ['[a-z]+[A-Z]\\w*', '[A-Z][a-z]+[A-Z]\\w*', '[a-z]+(?:_[a-z0-9]+)+', '[A-Z]+(?:_[A-Z0-9]+)+'];
const NAME = new RegExp(`(?<![\\w/@$%-])(?:${WORDS.join('|')})(?![\\w/-])`, 'g');

const blank = (text) => text.replaceAll(/[^\n]/g, ' ');
const paths = execFileSync('git', ['ls-files'], { encoding: 'utf8' })
  .split('\n')
  .filter((path) => path !== '' && path !== 'package-lock.json' && existsSync(path));
const known = new Set(FOREIGN);
const texts = [];
for (const path of paths) {
  const text = readFileSync(path, 'utf8');
  if (IS_DOCUMENT.test(path)) {
    texts.push(...[...text.replaceAll(NOT_OURS, blank).matchAll(QUOTED)].map((match) => textOf(match, 1)));
  }
  if (path.endsWith('.md')) continue;
  const code = IS_CODE.test(path) ? text.replaceAll(COMMENT, blank) : text;
  for (const [word] of code.matchAll(/[A-Za-z_]\w*/g)) known.add(word);
  if (IS_CODE.test(path) && !IS_GENERATED.test(path)) {
    texts.push(...[...text.matchAll(COMMENT)].map((match) => textOf(match, 0)));
  }
  function textOf(match, group) {
    return { text: match[group], path, line: text.slice(0, match.index).split('\n').length };
  }
}

const isFile = (name) => paths.some((path) => path === name || path.endsWith(`/${name}`));
const isKnown = (name) => known.has(name) || IS_POSTGRES.test(name);
const unknown = texts.flatMap(({ path, line, text }) => {
  const files = [...text.matchAll(FILE)].filter(([name]) => !isFile(name));
  const names = [...text.replaceAll(FILE, blank).matchAll(NAME)].filter(([name]) => !isKnown(name));
  return [...files, ...names].map(
    ({ 0: name, index }) =>
      `${path}:${line + text.slice(0, index).split('\n').length - 1}: ${name} is in no code`,
  );
});
for (const one of unknown) console.error(one);
if (unknown.length > 0) process.exitCode = 1;
