import { Worker } from 'node:worker_threads';

const BEAT_MS = 1000;
const HUNG_AFTER_BEATS = 10;

/** It counts its own ticks instead of reading a clock, so that a process that was suspended is not hung. */
const WATCH = `
  const { workerData: beats } = require('node:worker_threads');
  let [seen, missed] = [0, 0];
  setInterval(() => {
    const now = Atomics.load(beats, 0);
    [seen, missed] = [now, now === seen ? missed + 1 : 0];
    if (missed < ${HUNG_AFTER_BEATS}) return;
    require('node:fs').writeSync(2, 'The sandbox hangs, and ends itself\\n');
    process.kill(process.pid, 'SIGKILL');
  }, ${BEAT_MS});
`;

/**
 * Kills this process when its event loop hangs: it would then ignore SIGTERM, and nobody else may know it. A
 * thread of its own watches, because it goes on when the event loop does not.
 */
export function watchEventLoop(): void {
  const beats = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));
  setInterval(() => Atomics.add(beats, 0, 1), BEAT_MS).unref();
  new Worker(WATCH, { eval: true, workerData: beats }).unref();
}
