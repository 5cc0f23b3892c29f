import { AppLogger } from './app-logger';
import { requestId, runInRequest } from './request-context';

function linesOf(
  options: ConstructorParameters<typeof AppLogger>[0],
  log: (logger: AppLogger) => void,
): string[] {
  const lines: string[] = [];
  const collect = (text: string | Uint8Array): boolean => {
    lines.push(String(text));
    return true;
  };
  const streams = [
    jest.spyOn(process.stdout, 'write').mockImplementation(collect),
    jest.spyOn(process.stderr, 'write').mockImplementation(collect),
  ];
  try {
    log(new AppLogger(options));
  } finally {
    for (const stream of streams) stream.mockRestore();
  }
  return lines;
}

describe('AppLogger', () => {
  it('adds the id of the request to each JSON line', () => {
    const [line = ''] = linesOf({ level: 'info', format: 'json' }, (logger) => {
      runInRequest({ requestId: 'abc' }, () => logger.log('sold', { count: 3 }, 'Orders'));
    });
    expect(JSON.parse(line)).toMatchObject({
      level: 'log',
      message: 'sold',
      context: 'Orders',
      count: 3,
      requestId: 'abc',
    });
  });

  it('adds it to each readable line too, with or without a context', () => {
    const lines = linesOf({ level: 'info', format: 'pretty' }, (logger) => {
      runInRequest({ requestId: 'abc' }, () => {
        logger.log('sold', 'Orders');
        logger.log('sold');
      });
    });
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toContain('[abc] ');
  });

  it('adds no id outside of a request', () => {
    const [line = ''] = linesOf({ level: 'info', format: 'json' }, (logger) => logger.log('started'));
    expect(JSON.parse(line)).not.toHaveProperty('requestId');
  });

  it('logs nothing below its level', () => {
    const lines = linesOf({ level: 'warn', format: 'json' }, (logger) => {
      logger.debug('one');
      logger.log('two');
      logger.warn('three');
      logger.error('four');
    });
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([{ message: 'three' }, { message: 'four' }]);
  });

  it.each(['json', 'pretty'] as const)(
    'logs the set-up of modules and routes at level debug only: %s',
    (format) => {
      const logSetUp = (logger: AppLogger) => {
        for (const context of ['InstanceLoader', 'RoutesResolver', 'RouterExplorer']) {
          logger.log('wired', context);
        }
        logger.log('started', 'NestApplication');
      };
      expect(linesOf({ level: 'info', format }, logSetUp)).toEqual([expect.stringContaining('started')]);
      expect(linesOf({ level: 'debug', format }, logSetUp)).toHaveLength(4);
    },
  );
});

describe('The id of a request', () => {
  it('follows the request through asynchronous calls', async () => {
    await runInRequest({ requestId: 'abc' }, async () => {
      await new Promise(setImmediate);
      expect(requestId()).toBe('abc');
    });
    expect(requestId()).toBeUndefined();
  });
});
