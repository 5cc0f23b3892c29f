import { Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { proxyFor } from '../common';
import { AppConfig } from '../config';
import { loadOpenTelemetry, type OpenTelemetry } from './open-telemetry';
import { recordSpans } from './spans';

@Module({})
export class TracingModule implements OnModuleInit, OnApplicationShutdown {
  private openTelemetry: OpenTelemetry | undefined;

  constructor(private readonly config: AppConfig) {}

  async onModuleInit(): Promise<void> {
    const { traces, outgoing } = this.config;
    const { url, ratio } = traces;
    if (url === undefined) return;
    this.openTelemetry = await loadOpenTelemetry({ url, ratio }, proxyFor(url, outgoing));
    recordSpans(this.openTelemetry);
  }

  async onApplicationShutdown(): Promise<void> {
    if (!this.openTelemetry) return;
    recordSpans(undefined);
    await this.openTelemetry.end();
  }
}
