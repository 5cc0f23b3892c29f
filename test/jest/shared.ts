/** Objects that the test files of a worker share. Node itself loads this file, so that it outlives them. */
export const shared: {
  service?: Promise<unknown>;
  close?: () => Promise<void>;
  /** The application's modules once more, for further replicas. */
  readonly copies: unknown[];
} = { copies: [] };

/** The message by which Jest ends a worker: it must be gone half a second later. */
const END = 2;
if (process.send) process.on('message', ([type]: [number]) => type === END && process.exit());
