import { ConsoleLogger, type LogLevel } from '@nestjs/common';
import { requestId, traceId } from './request-context';

interface LogSettings {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'pretty' | 'json';
}

const ENABLED_LEVELS: Record<LogSettings['level'], LogLevel[]> = {
  error: ['fatal', 'error'],
  warn: ['fatal', 'error', 'warn'],
  info: ['fatal', 'error', 'warn', 'log'],
  debug: ['fatal', 'error', 'warn', 'log', 'debug'],
};

/** Logger contexts in which Nest reports each module and route at startup. */
const ASSEMBLY_CONTEXTS: ReadonlySet<unknown> = new Set([
  'InstanceLoader',
  'RouterExplorer',
  'RoutesResolver',
]);

export class AppLogger extends ConsoleLogger {
  constructor({ level, format }: LogSettings) {
    super({
      json: format === 'json',
      flattenParams: true,
      prefix: 'Service',
      logLevels: ENABLED_LEVELS[level],
    });
  }

  override log(message: unknown, ...parameters: unknown[]): void {
    if (ASSEMBLY_CONTEXTS.has(parameters.at(-1))) super.debug(message, ...parameters);
    else super.log(message, ...parameters);
  }

  protected override getJsonLogObject(
    ...parameters: Parameters<ConsoleLogger['getJsonLogObject']>
  ): ReturnType<ConsoleLogger['getJsonLogObject']> {
    const id = requestId();
    const trace = traceId();
    return {
      ...super.getJsonLogObject(...parameters),
      ...(id !== undefined && { requestId: id }),
      ...(trace !== undefined && { traceId: trace }),
    };
  }

  protected override formatContext(context: string): string {
    const id = requestId();
    return id === undefined ? super.formatContext(context) : `${super.formatContext(context)}[${id}] `;
  }
}
