import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SERVICE_VERSION } from '../common';
import { migrations } from './data-source-options';

const FUNCTIONS = join(__dirname, 'functions');
/** Exclusive upper bound of each number in a version. */
const NUMBERS = 1000;

export interface Release {
  /** The version as a number: 1002003 for 1.2.3. */
  readonly number: number;
  readonly migrations: readonly (new () => object)[];
  /** SQL that creates each function and its triggers, by function name. */
  readonly functions: Readonly<Record<string, string>>;
}

export const thisRelease = (): Release => ({
  number: RELEASE_NUMBER,
  migrations,
  functions: Object.fromEntries(
    readdirSync(FUNCTIONS).map((file) => [
      basename(file, '.sql'),
      readFileSync(join(FUNCTIONS, file), 'utf8'),
    ]),
  ),
});

export const RELEASE_NUMBER = SERVICE_VERSION.split('.').reduce(
  (sum, part) => sum * NUMBERS + Number(part),
  0,
);

/** Checksums by function name. */
export type Checksums = Readonly<Record<string, string>>;

export const checksumsOf = ({ functions }: Release): Checksums =>
  Object.fromEntries(
    Object.entries(functions).map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')]),
  );
