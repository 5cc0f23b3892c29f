// Cuts a release: `npm run release -- 1.2.3`. Checks that the repository is ready, tags it, and prints the
// notes. It changes no file and pushes nothing.
import { execFileSync, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** One page: readers of a release want what it does, and the history has how it got there. */
const MAX_NOTES_LINES = 60;

process.chdir(join(import.meta.dirname, '..'));
const [version = ''] = process.argv.slice(2);
const tag = `v${version}`;
try {
  release();
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}

function release() {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Error('Usage: npm run release -- X.Y.Z');
  if (git('status', '--porcelain') !== '') throw new Error('The working tree has changes.');
  if (git('tag', '--list', tag) !== '') throw new Error(`The tag ${tag} exists.`);
  const others = [...versions()].filter(([, found]) => found !== version);
  if (others.length > 0) {
    const list = others.map(([place, found]) => `  ${place}: ${found}`).join('\n');
    throw new Error(`Not every version is ${version}:\n${list}`);
  }
  const notes = readNotes();
  const { status } = spawnSync('npm', ['run', 'check'], { stdio: ['ignore', 2, 2] });
  if (status !== 0) throw new Error('A check failed.');
  // git would take the headings of the notes for comments.
  git('tag', '--annotate', '--cleanup=verbatim', '--message', `${tag}\n\n${notes}\n`, tag);
  console.log(notes);
  console.error(`Tagged ${tag}. Publish it: git push origin ${tag}`);
}

/** Where the version of the service is written, with what is written there. */
function* versions() {
  for (const path of ['package.json', 'clients/typescript/package.json']) {
    yield [path, JSON.parse(readFileSync(path, 'utf8')).version];
  }
  const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
  yield ['package-lock.json', lock.version];
  yield ['package-lock.json, packages', lock.packages[''].version];
  yield [
    'docs/production.md',
    /proxy-rental-(\d[\d.]*)\.tar\.gz/.exec(readFileSync('docs/production.md', 'utf8'))?.[1],
  ];
  yield [
    'src/common/service.ts',
    /SERVICE_VERSION = '(.*)'/.exec(readFileSync('src/common/service.ts', 'utf8'))?.[1],
  ];
}

function readNotes() {
  const sections = readFileSync('CHANGELOG.md', 'utf8').split(/^## /m);
  const unreleased = sections.find((section) => section.startsWith('[Unreleased]'));
  if (unreleased !== undefined && unreleased.trim() !== '[Unreleased]') {
    throw new Error(`CHANGELOG.md: move the entries under Unreleased into the section of ${version}.`);
  }
  const [heading, ...lines] =
    sections.find((section) => section.startsWith(`[${version}]`))?.split('\n') ?? [];
  if (!/\] - \d{4}-\d{2}-\d{2}$/.test(heading ?? '')) {
    throw new Error(`CHANGELOG.md has no section "## [${version}] - YYYY-MM-DD".`);
  }
  const notes = lines.join('\n').trim();
  const count = notes.split('\n').length;
  if (notes === '' || count > MAX_NOTES_LINES) {
    throw new Error(
      `CHANGELOG.md: the section of ${version} has ${count} lines, at most ${MAX_NOTES_LINES}.`,
    );
  }
  return notes;
}

function git(...parameters) {
  return execFileSync('git', parameters, { encoding: 'utf8' }).trim();
}
