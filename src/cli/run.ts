import type { INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { Command } from 'commander';
import { AdministrationModule } from '../administration.module';
import { type AppConfig, readEnvironment } from '../config';
import { migrate } from '../database';
import { acquireResources } from '../local';
import { Act, StaffLog, type Target } from '../staff';
import { parseId } from './options';

export const print = (value: unknown): void =>
  void process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
export const complain = (line: string): void => void process.stderr.write(`${line}\n`);
/** Where the database lies and the like is told by the service's start; here the standard error is for refusals. */
const ignoreNotes = (): void => undefined;

const NO_PROVIDER = { provider: false };

/** With the database of the environment and, when asked for, its provider. */
export async function withResources(
  work: (config: AppConfig) => Promise<void>,
  needs = NO_PROVIDER,
): Promise<void> {
  const resources = await acquireResources(readEnvironment(undefined, needs), needs, ignoreNotes);
  try {
    await work(resources.config);
  } finally {
    await resources.release();
  }
}

/** Runs a use case over the database of the environment: beside a running service, or alone. */
export const withServices = (
  useCase: (app: INestApplicationContext) => Promise<void>,
  needs = NO_PROVIDER,
): Promise<void> =>
  withResources(async (config) => {
    if (config.database.migrateOnStart) await migrate(config.database.url);
    const app = await NestFactory.createApplicationContext(AdministrationModule.with(config), {
      logger: false,
      abortOnError: false,
    });
    try {
      await useCase(app);
    } finally {
      await app.close();
    }
  }, needs);

/** The same, and prints what it comes to. */
export const answer = (
  useCase: (app: INestApplicationContext) => Promise<unknown>,
  needs = NO_PROVIDER,
): Promise<void> => withServices(async (app) => print(await useCase(app)), needs);

/** The same for what only shows: the log has it before it is printed. */
export const show = (
  action: string,
  target: Target | null,
  request: object,
  useCase: (app: INestApplicationContext) => Promise<unknown>,
): Promise<void> =>
  answer(async (app) => {
    const shown = await useCase(app);
    await app.get(StaffLog).read(Act.onCommandLine(action, target, request));
    return shown;
  });

export const LONGEST_LIST = 1000;

export interface ListOptions {
  readonly before?: number;
  readonly limit: number;
}

/** @param cursor what the items are counted by */
export const withListOptions = (command: Command, cursor = 'id'): Command =>
  command
    .option(`--before <${cursor}>`, 'older ones only: the next page', parseId)
    .option('--limit <count>', 'so many at most', parseId, LONGEST_LIST);

export const toPage = ({ before, limit }: ListOptions) => ({ cursor: before ?? null, limit });
