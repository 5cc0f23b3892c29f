const INTERVAL_MS = 60_000;

/** Returns a function that warns at most once a minute, and drops the other warnings. */
export function atMostEachMinute(warn: (message: string) => void): (message: string) => void {
  let lastAtMs = -Infinity;
  return (message) => {
    if (performance.now() - lastAtMs < INTERVAL_MS) return;
    lastAtMs = performance.now();
    warn(message);
  };
}
