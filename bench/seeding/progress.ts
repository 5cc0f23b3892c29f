const WIDTH = 30;
const LINE_INTERVAL_MS = 3000;

/** Receives the progress of a piece of work. */
export type Progress = (phase: string, done: number, total: number) => void;

/** A progress bar on a terminal; otherwise a line every few seconds and at the end of each phase. */
export function showProgress(stream: NodeJS.WriteStream): Progress {
  let current = '';
  let startedAtMs = 0;
  let toldAtMs = 0;
  return (phase, done, total) => {
    const nowMs = performance.now();
    if (phase !== current) {
      current = phase;
      startedAtMs = toldAtMs = nowMs;
    }
    const isOver = done >= total;
    const share = total === 0 ? 1 : Math.min(done / total, 1);
    const percent = `${Math.floor(share * 100)} %`.padStart(5);
    const elapsed = `${((nowMs - startedAtMs) / 1000).toFixed(0)} s`;
    if (stream.isTTY) {
      const bar = '█'.repeat(Math.round(share * WIDTH)).padEnd(WIDTH, '░');
      stream.write(`\r\u001B[K${phase.padEnd(10)} ${bar} ${percent}  ${elapsed}${isOver ? '\n' : ''}`);
    } else if (isOver || nowMs - toldAtMs >= LINE_INTERVAL_MS) {
      toldAtMs = nowMs;
      stream.write(`${phase} ${percent.trim()} after ${elapsed}\n`);
    }
  };
}
