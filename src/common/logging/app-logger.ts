import { ConsoleLogger, type LogLevel } from '@nestjs/common';

import { requestId } from './request-context';

export interface AppLoggerOptions {
  readonly level: 'error' | 'warn' | 'info' | 'debug';
  readonly format: 'json' | 'pretty';
}

const ENABLED_LEVELS: Record<AppLoggerOptions['level'], LogLevel[]> = {
  error: ['fatal', 'error'],
  warn: ['fatal', 'error', 'warn'],
  info: ['fatal', 'error', 'warn', 'log'],
  debug: ['fatal', 'error', 'warn', 'log', 'debug'],
};

/** Nest's logger, with the request's id on every line that a request causes. */
export class AppLogger extends ConsoleLogger {
  constructor({ level, format }: AppLoggerOptions) {
    super({
      json: format === 'json',
      flattenParams: true,
      prefix: 'Service',
      logLevels: ENABLED_LEVELS[level],
    });
  }

  protected override getJsonLogObject(
    ...parameters: Parameters<ConsoleLogger['getJsonLogObject']>
  ): ReturnType<ConsoleLogger['getJsonLogObject']> {
    const id = requestId();
    return { ...super.getJsonLogObject(...parameters), ...(id !== undefined && { requestId: id }) };
  }

  protected override formatContext(context: string): string {
    const id = requestId();
    return id === undefined ? super.formatContext(context) : `${super.formatContext(context)}[${id}] `;
  }
}
