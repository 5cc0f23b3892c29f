/** The service's log in JSON, kept while a test file runs instead of shown. */
export interface LogCapture {
  readonly lines: readonly string[];
  stop(): void;
}

/** Begins before a service with `LOG_FORMAT: 'json'` is started, so that no line escapes it. Jest's own output goes on. */
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
