import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Command, Option } from 'commander';
import { createCli } from '../../src/cli/cli';
import { codeBlocks, DOCUMENTS } from '../support/code-blocks';

const ROOT = join(__dirname, '..', '..');
const MAX_README_BYTES = 7000;
const MAX_COLUMNS = 120;
const MAX_DECISIONS = 43;

interface Line {
  readonly number: number;
  readonly text: string;
  readonly isCode: boolean;
}

interface Document {
  readonly path: string;
  readonly lines: readonly Line[];
}

const documents = DOCUMENTS.map(readDocument);

const presentDocuments = documents.filter(({ path }) => path !== 'CHANGELOG.md');

function readDocument(path: string): Document {
  let isCode = false;
  const lines = readFileSync(join(ROOT, path), 'utf8')
    .split('\n')
    .map((text, at) => {
      const isFence = /^\s*```/.test(text);
      if (isFence) isCode = !isCode;
      return { number: at + 1, text, isCode: isCode || isFence };
    });
  return { path, lines };
}

interface DependencyRules {
  readonly forbidden: readonly {
    readonly name: string;
    readonly to: { readonly pathNot?: string | string[] };
  }[];
}

function findAll(
  from: readonly Document[],
  expression: RegExp,
  lines: 'all' | 'prose' = 'all',
): { found: string; path: string; at: string }[] {
  return from.flatMap(({ path, lines: all }) =>
    all
      .filter(({ isCode }) => lines === 'all' || !isCode)
      .flatMap(({ number, text }) =>
        [...text.matchAll(expression)].map(([, found = '']) => ({ found, path, at: `${path}:${number}` })),
      ),
  );
}

function anchorsOf(path: string): Set<string> {
  const anchors = new Set<string>();
  for (const { text, isCode } of readDocument(path).lines) {
    const heading = isCode ? undefined : /^#{1,6} (.+)$/.exec(text)?.[1];
    if (heading === undefined) continue;
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const slug = plain.replaceAll(/[^\p{L}\p{M}\p{N}_ -]/gu, '').replaceAll(' ', '-');
    let anchor = slug;
    for (let repeated = 1; anchors.has(anchor); repeated += 1) anchor = `${slug}-${repeated}`;
    anchors.add(anchor);
  }
  return anchors;
}

interface CommandOptions {
  readonly required: readonly string[];
  readonly all: readonly string[];
}

function commandsOf(command: Command, words: readonly string[] = []): [string, CommandOptions][] {
  if (command.commands.length > 0) {
    return command.commands.flatMap((child) => commandsOf(child, [...words, child.name()]));
  }
  const namesOf = (options: readonly Option[]) => options.map(({ long }) => long ?? '');
  const required = namesOf(command.options.filter(({ mandatory }) => mandatory));
  return [[words.join(' '), { required, all: namesOf(command.options) }]];
}

function documentedCommands(): [string, string[]][] {
  const code = readDocument('docs/cli.md')
    .lines.filter(({ isCode }) => isCode)
    .map(({ text }) => text.replace(/ # .*$/, ''))
    .join('\n')
    .replaceAll(/\n\s+/g, ' ');
  return [...code.matchAll(/^cli ((?:[a-z][a-z-]* ?)+)(.*)$/gm)].map(([, words = '', rest = '']) => [
    words.trim(),
    [...rest.matchAll(/--[a-z][a-z-]*/g)].map(([option]) => option).toSorted(),
  ]);
}

function citingFiles(): string[] {
  const patterns = ['*.md', '*.ts', '*.mjs', '*.cjs', '*.sql', '*.yml', '*.toml', '.ci/run'];
  // The files may belong to another user than that of the tests, as in a container.
  const command = ['-c', 'safe.directory=*', 'ls-files', ...patterns];
  return execFileSync('git', command, { cwd: ROOT, encoding: 'utf8' })
    .split('\n')
    .filter((path) => path !== '' && path !== 'CHANGELOG.md' && existsSync(join(ROOT, path)));
}

describe('the decision records', () => {
  const records = readdirSync(join(ROOT, 'docs/decisions')).filter((name) => name !== 'README.md');
  const byNumber = new Map(records.map((name) => [Number(name.slice(0, 4)), name]));

  it(`are at most ${MAX_DECISIONS}, each listed with its number and title`, () => {
    expect(records.length).toBeLessThanOrEqual(MAX_DECISIONS);
    const listed = readDocument('docs/decisions/README.md').lines.filter(({ text }) => text.startsWith('- '));
    expect(listed.map(({ text }) => text)).toEqual(
      [...byNumber].map(([number, name]) => {
        const [heading] = readDocument(join('docs/decisions', name)).lines;
        const title = heading?.text.replace(`# ${number}. `, '');
        return `- ${number}: [${title}](${name})`;
      }),
    );
  });

  it('exist wherever one is cited, under the number of their file', () => {
    const citations = citingFiles().flatMap((path) => {
      const text = readFileSync(join(ROOT, path), 'utf8');
      const numbers = text.matchAll(
        /\bdecision\s+(?<number>\d+)(?:\]\((?:[^)]*\/)?(?<name>\d{4}-[^)#]+))?/gi,
      );
      const paths = text.matchAll(/decisions\/(?<name>(?<number>\d{4})-[a-z-]+\.md)/g);
      return [...numbers, ...paths].map(({ 0: found, groups = {} }) => ({ path, found, ...groups }));
    }) as { path: string; found: string; number: string; name?: string }[];
    expect(citations.length).toBeGreaterThan(10);
    const wrong = citations.filter(({ number, name }) => {
      const record = byNumber.get(Number(number));
      return record === undefined || (name !== undefined && name !== record);
    });
    expect(wrong.map(({ path, found }) => `${path}: ${found}`)).toEqual([]);
  });
});

describe('the documents', () => {
  it('have links that lead somewhere', () => {
    const links = findAll(documents, /\]\(([^)\s]+)\)/g, 'prose').filter(
      ({ found }) => !/^[a-z]+:/.test(found),
    );
    expect(links.length).toBeGreaterThan(50);
    const broken = links.filter(({ found, path }) => {
      const [file = '', anchor] = found.split('#');
      const target = file === '' ? path : join(dirname(path), file);
      if (!existsSync(join(ROOT, target))) return true;
      return anchor !== undefined && !anchorsOf(target).has(anchor);
    });
    expect(broken.map(({ found, at }) => `${at}: ${found}`)).toEqual([]);
  });

  it('name files and folders that exist', () => {
    const paths = findAll(
      presentDocuments,
      /`((?:src|operations|test|bench|drills|docs|scripts|docker|\.ci)\/[^`\s]*)`/g,
    );
    expect(paths.length).toBeGreaterThan(30);
    // A pattern must exist up to its first wildcard or placeholder.
    const missing = paths.filter(({ found }) => {
      if (/^docker\/(?:secrets\/|service\.env$)/.test(found)) return false;
      const fixed = /[*<{…]/.test(found) ? dirname(found.replace(/[*<{…].*$/, 'x')) : found;
      return !existsSync(join(ROOT, fixed));
    });
    expect(missing.map(({ found, at }) => `${at}: ${found}`)).toEqual([]);
  });

  it('have every module in the list of the architecture', () => {
    const modules = readdirSync(join(ROOT, 'src'), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const architecture = documents.filter(({ path }) => path === 'docs/architecture.md');
    const described = findAll(architecture, /^- `([a-z-]+)`: /g).map(({ found }) => found);
    expect(described).toEqual(expect.arrayContaining(modules));
  });

  it('draw every module above all that it may import', () => {
    const drawing = readDocument('docs/architecture.md')
      .lines.filter(({ isCode }) => isCode)
      .map(({ text }) => text)
      .join('\n')
      .split('```')
      .find((block) => block.includes('main, application, cli'));
    const heights = new Map(
      (drawing ?? '')
        .split('\n')
        .flatMap((line, at) => (line.match(/[a-z-]+/g) ?? []).map((module) => [module, -at] as const)),
    );
    const height = (module: string): number => heights.get(module) ?? Number.NaN;
    const { forbidden } = jest.requireActual<DependencyRules>('../../.dependency-cruiser.cjs');
    const arrows = forbidden.flatMap(({ name, to }) => {
      const from = /^arrows-from-(.+)$/.exec(name)?.[1];
      if (from === undefined || !Array.isArray(to.pathNot)) return [];
      return to.pathNot.map((pattern) => [from, pattern.replaceAll(/^\^src\/|\/$/g, '')] as const);
    });
    expect(arrows.length).toBeGreaterThan(50);
    const upwards = arrows.filter(([from, to]) => from !== to && !(height(from) > height(to)));
    expect(upwards.map((arrow) => arrow.join(' imports '))).toEqual([]);
  });

  it('name npm scripts that exist', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: object };
    const named = findAll(
      presentDocuments,
      /npm (?:run )?(?:--silent )?((?<=run (?:--silent )?)[a-z][\w:-]*|start|test)/g,
    );
    expect(named.length).toBeGreaterThan(20);
    const missing = named.filter(({ found }) => !Object.hasOwn(scripts, found));
    expect(missing.map(({ found, at }) => `${at}: ${found}`)).toEqual([]);
  });

  it('are no wider than a window, tables aside', () => {
    const wide = documents.flatMap(({ path, lines }) =>
      lines
        .filter(({ text }) => text.length > MAX_COLUMNS && !text.startsWith('|'))
        .map(({ number }) => `${path}:${number}`),
    );
    expect(wide).toEqual([]);
  });

  it('have no block of commands in which one reads what is pasted after it', () => {
    const READERS = /\bcat > (?!.*<<)|\/dev\/stdin|\bread \w|\bpasswd\b|\bssh |apt-get install (?!-y)/;
    const swallowing = documents.flatMap(({ path }) =>
      codeBlocks(path, 'sh').flatMap((block) => {
        const lines = block.trimEnd().split('\n');
        return lines.slice(0, -1).filter((line) => READERS.test(line));
      }),
    );
    expect(swallowing).toEqual([]);
  });

  it('define what their commands use', () => {
    const uses = [
      { definition: 'AUTH=', defines: /AUTH=/, use: /\$AUTH\b/ },
      { definition: 'call() {', defines: /^\s*call\(\) \{/m, use: /^\s*call /m },
      // Where the service runs under another account, an alias is easier to read than a function.
      { definition: 'cli', defines: /^(?:cli\(\) \{|alias cli=)/m, use: /^cli /m },
    ];
    const missing = documents.flatMap(({ path }) => {
      const commands = codeBlocks(path, 'sh').join('');
      return uses.flatMap(({ definition, defines, use }) =>
        use.test(commands) && !defines.test(commands) ? [`${path}: ${definition}`] : [],
      );
    });
    // The page continues the tour of the README in the same terminal.
    expect(missing).toEqual(['docs/start.md: call() {']);
  });

  it(`begin with a README of at most ${MAX_README_BYTES} bytes`, () => {
    expect(readFileSync(join(ROOT, 'README.md')).length).toBeLessThanOrEqual(MAX_README_BYTES);
  });

  it('show every command of the command line with its required options, and no option that it lacks', () => {
    const commands = commandsOf(createCli());
    expect(commands.length).toBeGreaterThan(20);
    const shown = new Map(documentedCommands());
    expect([...shown.keys()].toSorted()).toEqual(commands.map(([name]) => name).toSorted());
    const wrong = commands.filter(([name, { required, all }]) => {
      const options = shown.get(name) ?? [];
      return !required.every((one) => options.includes(one)) || !options.every((one) => all.includes(one));
    });
    expect(wrong.map(([name]) => name)).toEqual([]);
  });
});
