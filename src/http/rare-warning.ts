const INTERVAL_MS = 60_000;

/** Returns a function that logs at most one warning a minute, and drops the others. */
export function atMostEachMinute(warn: (message: string) => void): (message: string) => void {
  let lastAtMs = -Infinity;
  return (message) => {
    if (performance.now() - lastAtMs < INTERVAL_MS) return;
    lastAtMs = performance.now();
    warn(message);
  };
}
