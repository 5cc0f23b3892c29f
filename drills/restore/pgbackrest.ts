import { randomBytes } from 'node:crypto';
import { chown, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { ServerAccount } from '../../src/local/postgres/embedded-account';
import type { DrillDirectory } from '../support/accounts';
import { runProgram } from '../support/daemon';
import { DEBIAN } from '../support/debian';
import { PROJECT } from '../support/project';

const STANZA = 'proxy-rental';
const EXAMPLE = join(PROJECT, 'operations', 'pgbackrest.conf');

export interface Measured {
  readonly seconds: number;
}

export interface MadeBackup extends Measured {
  readonly databaseBytes: number;
  readonly copiedBytes: number;
  readonly repositoryBytes: number;
}

type Info = readonly {
  readonly backup: readonly {
    readonly info: {
      readonly size: number;
      readonly delta: number;
      readonly repository: { readonly delta: number };
    };
  }[];
}[];

export interface BackedUpServer {
  readonly data: string;
  readonly port: number;
  readonly sockets: string;
}

export class PgBackRest {
  private constructor(
    private readonly account: ServerAccount,
    private readonly configFile: string,
  ) {}

  static async create(directory: DrillDirectory, account: ServerAccount): Promise<PgBackRest> {
    const [repository, logs, locks] = [
      await directory.create('repository', account),
      await directory.create('logs', account),
      await directory.create('locks', account),
    ];
    const configFile = join(directory.path, 'pgbackrest.conf');
    const text = (await readFile(EXAMPLE, 'utf8'))
      .replace(/^repo1-path=.*$/m, `repo1-path=${repository}`)
      .replace(/^repo1-cipher-pass=.*$/m, `repo1-cipher-pass=${randomBytes(36).toString('base64')}`)
      .replace(/^log-level-console=/m, `log-path=${logs}\nlock-path=${locks}\n$&`)
      .replace(/^pg1-path=.*$/m, 'pg1-user=postgres');
    await writeFile(configFile, text, { mode: 0o600 });
    if (!account.isSelf) await chown(configFile, account.uid, account.gid);
    return new PgBackRest(account, configFile);
  }

  get archiveCommand(): string {
    return `${this.command.join(' ')} --pg1-path="$PWD" archive-push %p`;
  }

  private run(...parameters: readonly string[]): Promise<string> {
    const [program = '', ...options] = this.command;
    return runProgram({ program, parameters: [...options, ...parameters], account: this.account });
  }

  async createStanza(server: BackedUpServer): Promise<void> {
    await this.run(...placeOf(server), 'stanza-create');
    await this.run(...placeOf(server), 'check');
  }

  async backUp(server: BackedUpServer, type: 'full' | 'diff'): Promise<MadeBackup> {
    const startedAtMs = performance.now();
    await this.run(...placeOf(server), `--type=${type}`, 'backup');
    const seconds = (performance.now() - startedAtMs) / 1000;
    const info = JSON.parse(await this.run('--output=json', 'info')) as Info;
    const made = info[0]?.backup.at(-1)?.info;
    if (!made) throw new Error('pgBackRest names no backup');
    const { size: databaseBytes, delta: copiedBytes, repository } = made;
    return { seconds, databaseBytes, copiedBytes, repositoryBytes: repository.delta };
  }

  /** The server must not run. */
  async restore({ data }: BackedUpServer, target: Date): Promise<Measured> {
    const startedAtMs = performance.now();
    const moment = target.toISOString().replace('T', ' ').replace('Z', '+00');
    const goal = ['--type=time', `--target=${moment}`, '--target-action=promote'];
    await this.run(`--pg1-path=${data}`, ...goal, 'restore');
    return { seconds: (performance.now() - startedAtMs) / 1000 };
  }

  private get command(): string[] {
    return [DEBIAN.pgbackrest.path, `--config=${this.configFile}`, `--stanza=${STANZA}`];
  }
}

const placeOf = ({ data, port, sockets }: BackedUpServer): string[] => [
  `--pg1-path=${data}`,
  `--pg1-port=${port}`,
  `--pg1-socket-path=${sockets}`,
];
