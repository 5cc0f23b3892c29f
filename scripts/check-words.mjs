// Searches Markdown, comments, descriptions, error texts and titles of tests for the words of
// scripts/banned-words.txt.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from 'typescript';

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

// Other code is no text of the product: of tests, drills and tools, only titles and comments are read.
const IS_SERVICE = /^src\/.*(?<!\.spec)\.ts$/;
// Landed migrations are not edited.
const WITHOUT_COMMENTS = /^src\/database\/migrations\//;

const list = (...patterns) =>
  execFileSync('git', ['ls-files', ...patterns], { encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && existsSync(path));

const texts = [
  // The changelog keeps the words of its time.
  ...list('*.md')
    .filter((path) => path !== 'CHANGELOG.md')
    .flatMap(proseOfMarkdown),
  ...list('src/*.sql').flatMap(commentsOf),
  ...list('*.ts', '*.mjs', '*.cjs').flatMap((path) => [
    ...proseOfCode(path, IS_SERVICE.test(path) ? textOf : titleOf),
    ...commentsOf(path),
  ]),
];
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

/** Texts that read like sentences, joined where they are written as a sum. SQL, names and patterns do not. */
function proseOfCode(path, textOfNode) {
  const source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.Latest, true);
  const prose = [];
  const visit = (node) => {
    const text = textOfNode(node);
    if (text !== undefined && isProse(text)) {
      prose.push({ path, line: source.getLineAndCharacterOfPosition(node.getStart()).line + 1, text });
    }
    if (text === undefined || ts.isCallExpression(node)) ts.forEachChild(node, visit);
  };
  visit(source);
  return prose;
}

/** Comments, each as one line without its marks, quotations in backticks and names of parameters. */
function commentsOf(path) {
  if (WITHOUT_COMMENTS.test(path)) return [];
  const code = readFileSync(path, 'utf8');
  return [...code.matchAll(/\/\*\*?\s[^]*?\*\/|(?:^ *(?:\/\/|--) .*\n)+/gm)].map(({ 0: comment, index }) => ({
    path,
    line: code.slice(0, index).split('\n').length,
    text: comment
      .replaceAll(/`[^`]*`|@param \S+/g, '')
      .replaceAll(/(?:[\s/*]|^ *--)+/gm, ' ')
      .trim(),
  }));
}

function textOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isTemplateExpression(node)) {
    return [node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join('…');
  }
  if (!ts.isBinaryExpression(node) || node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined;
  const [left, right] = [textOf(node.left), textOf(node.right)];
  return left === undefined && right === undefined ? undefined : `${left ?? '…'}${right ?? '…'}`;
}

/** The title of a test or a group of tests. */
function titleOf(node) {
  if (!ts.isCallExpression(node)) return undefined;
  let callee = node.expression;
  while (!ts.isIdentifier(callee) && callee.expression) callee = callee.expression;
  return /^(?:describe|it|test)$/.test(callee.text) && node.arguments[0]
    ? textOf(node.arguments[0])
    : undefined;
}

function isProse(text) {
  const isSql = /\b(?:SELECT|INSERT|UPDATE|DELETE|FROM|WHERE)\b/.test(text);
  return text.split(' ').length > 3 && !text.includes('\n') && !isSql;
}
