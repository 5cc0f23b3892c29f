export interface LogCapture {
  readonly lines: readonly string[];
  stop(): void;
}

/** Call it before starting a service with `LOG_FORMAT: 'json'`. */
export function captureLog(): LogCapture {
  const lines: string[] = [];
  const restore = ([process.stdout, process.stderr] as const).map((stream) => {
    const write = stream.write.bind(stream);
    const spy = jest.spyOn(stream, 'write').mockImplementation((text) => {
      if (!text.toString().startsWith('{"level":')) return write(text);
      lines.push(text.toString());
      return true;
    });
    return () => spy.mockRestore();
  });
  return { lines, stop: () => restore.forEach((undo) => undo()) };
}
