// Starts its own service, as `npm start` does, and pastes whole pages into shells.
import { spawn } from 'node:child_process';
import { mkdir, open, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { freePort } from '../../drills/support/ports';
import {
  BUILD_TIMEOUT_MS,
  type BuiltService,
  ensureBuild,
  killLeftovers,
  startBuiltService,
} from '../support/built-service';
import { runCliHere } from '../support/cli';
import { blocksOf, type CodeBlock, DOCUMENTS } from '../support/code-blocks';
import { forAllTests } from '../support/fixtures';
import { listen } from '../support/listen';
import { describeWith, findProgram, findPython } from '../support/programs';
import { createTestDirectory, removeTestDirectory } from '../support/test-directory';

const PROJECT = join(__dirname, '..', '..');
const curl = findProgram('curl');
const python = findPython('requests');
const OPTIONAL_PROGRAMS = ['wget', 'aria2c', 'proxychains4'];

const MARKS: Readonly<Record<string, string>> = {
  setup: 'installs, starts or replaces the service of a checkout',
  server: 'is for a server, or for Docker',
  registry: 'needs programs that are downloaded',
  file: 'is saved as a file',
  'ctrl-c': 'runs until Ctrl-C, which the block says',
  output: 'is what the block before it prints',
};
const SETTINGS = {
  WEBHOOK_ALLOW_HTTP: 'true',
  WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  PX6_COMPATIBLE: 'on',
};

interface Pasted extends CodeBlock {
  readonly name: string;
  readonly shown: readonly string[];
}

function pastedFrom(path: string): Pasted[] {
  const blocks = blocksOf(path);
  return blocks.flatMap((block, at) => {
    const { language, mark, code } = block;
    const isRunnable =
      language === 'sh'
        ? OPTIONAL_PROGRAMS.every((name) => !code.includes(`${name} `) || findProgram(name))
        : language === 'python' && python;
    if (!isRunnable || mark !== undefined) return [];
    const next = blocks[at + 1];
    const shown = [
      ...(next?.mark === 'output' ? next.code.trimEnd().split('\n') : []),
      ...[...code.matchAll(/# prints (.+)$/gm)].map(([, printed = '']) => printed),
    ];
    return [{ ...block, name: `${path}, block ${at + 1}`, shown }];
  });
}

const patternOf = (line: string): RegExp =>
  new RegExp(
    line
      .replaceAll(/[\\^$.*+?()[\]{}|]/g, String.raw`\$&`)
      .replaceAll(/(?:, )?…/g, '.*')
      .replaceAll(/(_ms":|127\\\.0\\\.0\\\.1:)\d+/g, String.raw`$1\d+`),
  );

describe('The documents', () => {
  it('say why a block cannot be pasted', () => {
    const marked = DOCUMENTS.flatMap((path) => blocksOf(path).map((block) => ({ path, ...block })));
    expect(marked.filter(({ mark }) => mark !== undefined && !(mark in MARKS))).toEqual([]);
    expect(marked.filter(({ mark, code }) => mark === 'ctrl-c' && !code.includes('Ctrl-C'))).toEqual([]);
  });
});

describeWith(curl === undefined ? ['curl'] : [], 'The documents, pasted into a shell', () => {
  let directory: string;
  let service: BuiltService;
  let tour: readonly string[];

  /** Runs commands in this process, ten times faster. */
  const commands = forAllTests(
    async () => {
      const server = createServer((request, response) => {
        const answer = async (): Promise<void> => {
          const words = (await text(request)).trimEnd().split('\n');
          const environment = { PATH: process.env['PATH'] ?? '', DATA_DIR: join(directory, '.data') };
          const { code, stdout, stderr } = await runCliHere(words, environment);
          response.writeHead(code === 0 ? 200 : 500).end(stdout + stderr);
        };
        void answer();
      });
      return { server, port: await listen(server) };
    },
    ({ server }) => server.close(),
  );
  /** @returns each stumble of a reader; a failure or a response with an error ends the shell */
  async function paste(...pages: readonly string[]): Promise<string[]> {
    const blocks = pages.flatMap(pastedFrom);
    const lines = blocks.flatMap(({ name, language, code }) => [
      language === 'sh' ? code : `${python} - <<'END_OF_PYTHON'\n${code}END_OF_PYTHON`,
      `echo '@@ ${name} @@'`,
    ]);
    const script = ['exec 2>&1', ...lines, '']
      .join('\n')
      .replaceAll('http://127.0.0.1:3000', service.baseUrl)
      // The awaited changes do not happen.
      .replaceAll('wait=30', 'wait=1')
      .replaceAll('--max-time 20', '--max-time 1');
    const file = join(directory, 'pasted.sh');
    await writeFile(file, script);
    const pasted = await open(file);
    // The commands are the shell's input, as on a terminal: a program that reads swallows those after it.
    const shell = spawn('bash', ['-eu', '-o', 'pipefail'], {
      cwd: directory,
      env: { PATH: `${join(directory, 'bin')}:${process.env['PATH']}`, HOME: directory },
      stdio: [pasted.fd, 'pipe', 'ignore'],
      timeout: 90_000,
    });
    let rest = shell.stdout ? await text(shell.stdout) : '';
    await pasted.close();
    const stumbles: string[] = [];
    for (const { name, shown } of blocks) {
      const [output = '', ...others] = rest.split(`@@ ${name} @@\n`);
      if (others.length === 0) return [...stumbles, `${name} fails: ${rest}`];
      if (!/(?:^|\n)$/.test(output)) stumbles.push(`${name} ends without a newline`);
      const missing = shown.filter((line) => !patternOf(line).test(output));
      stumbles.push(...missing.map((line) => `${name} does not print ${line}, but ${output}`));
      rest = others.join('');
    }
    return stumbles;
  }

  beforeAll(async () => {
    await ensureBuild();
    directory = await createTestDirectory('documents-');
    for (const name of ['package.json', 'dist', 'scripts', 'node_modules']) {
      await symlink(join(PROJECT, name), join(directory, name));
    }
    await mkdir(join(directory, 'bin'));
    // The example of a stream ends by --max-time. Of the commands, npm begins the first.
    const ofCurl = `case " $* " in *" -N "*) ended=28;; *) ended=0;; esac
${curl} --fail-with-body "$@" || { code=$?; [ $code = $ended ] || exit $code; }`;
    const ofNpm = `[ -e by-npm ] || { touch by-npm; exec ${findProgram('npm')} "$@"; }
[ "$1 $2 $3 $4" = 'run --silent cli --' ] && shift 4
printf '%s\\n' "$@" | curl -sS --data-binary @- http://127.0.0.1:${commands.port}`;
    for (const [name, wrapper] of Object.entries({ curl: ofCurl, npm: ofNpm })) {
      await writeFile(join(directory, 'bin', name), `#!/bin/sh\n${wrapper}\n`, { mode: 0o755 });
    }
    const own = { PORT: String(await freePort()), DATA_DIR: join(directory, '.data') };
    service = await startBuiltService({ ...SETTINGS, ...own });
    tour = await paste('README.md', 'docs/start.md');
  }, BUILD_TIMEOUT_MS);
  afterAll(async () => {
    await service.stop();
    await killLeftovers();
    await removeTestDirectory(join(directory, '.data'));
    await removeTestDirectory(directory);
  });

  it('accept README.md and docs/start.md in one shell, and print what they show', () =>
    expect(tour).toEqual([]));

  it.each(
    DOCUMENTS.filter((path) => !['README.md', 'docs/start.md'].includes(path) && pastedFrom(path).length > 0),
  )('accept %s after the tour, and print what it shows', async (page) =>
    expect(await paste(page)).toEqual([]),
  );
});
