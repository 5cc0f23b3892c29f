const INTERVAL_MS = 60_000;

export function atMostEachMinute(warn: (message: string) => void): (message: string) => void {
  let lastAtMs = -Infinity;
  return (message) => {
    if (performance.now() - lastAtMs < INTERVAL_MS) return;
    lastAtMs = performance.now();
    warn(message);
  };
}
