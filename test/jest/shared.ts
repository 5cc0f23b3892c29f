import type { Client } from 'pg';

/** Objects that the test files of a worker share. Node itself loads this file, so that it outlives them. */
export const shared: {
  /** By what their files do to them. */
  readonly services: Map<string, Promise<unknown>>;
  close?: () => Promise<void>;
  /** The worker's session with the maintenance database, and the name of the database that it copies. */
  admin?: Promise<Client>;
  template?: Promise<string>;
  /** The application's modules once more, for further replicas. */
  readonly copies: unknown[];
} = { services: new Map(), copies: [] };

/** The message by which Jest ends a worker: it must be gone half a second later. */
const END = 2;
if (process.send) process.on('message', ([type]: [number]) => type === END && process.exit());
