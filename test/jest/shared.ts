import type { Client } from 'pg';

/** Objects that a worker's test files share. Node loads this file, so they outlive each test file. */
export const shared: {
  /** By kind. */
  readonly services: Map<string, Promise<unknown>>;
  close?: () => Promise<void>;
  admin?: Promise<Client>;
  template?: Promise<string>;
  readonly copies: unknown[];
} = { services: new Map(), copies: [] };

/** Jest's message to a worker, which must end within half a second. */
const END = 2;
if (process.send) process.on('message', ([type]: [number]) => type === END && process.exit());
