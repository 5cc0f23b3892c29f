import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { SERVICE_VERSION } from '../common';
import { migrations } from './data-source-options';

const FUNCTIONS = join(__dirname, 'functions');
/** The numbers of a version are below it. */
const NUMBERS = 1000;

/** The parts of a version that are in the database. */
export interface Release {
  /** Grows with each version: 1002003 is 1.2.3. */
  readonly number: number;
  readonly migrations: readonly (new () => object)[];
  /** The texts of functions, with their triggers, by the name of the function. */
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

/** By the names of functions. */
export type Checksums = Readonly<Record<string, string>>;

export const checksumsOf = ({ functions }: Release): Checksums =>
  Object.fromEntries(
    Object.entries(functions).map(([name, text]) => [name, createHash('sha256').update(text).digest('hex')]),
  );
