import { HttpModule } from '@nestjs/axios';
import { Module } from '@nestjs/common';
import { Px6Client } from './px6/px6-client';
import { Px6Provider } from './px6/px6.provider';
import { createReadyAgents } from './px6/ready-agents';
import { UpstreamProvider } from './upstream-provider';

const CONNECT_TIMEOUT_MS = 3000;
const MAX_ANSWER_BYTES = 5 * 1024 * 1024;

@Module({
  imports: [
    HttpModule.registerAsync({
      useFactory: () => ({
        ...createReadyAgents(CONNECT_TIMEOUT_MS),
        maxContentLength: MAX_ANSWER_BYTES,
        maxRedirects: 0,
        proxy: false,
        responseType: 'text',
        transformResponse: (body: unknown) => body,
        validateStatus: () => true,
      }),
    }),
  ],
  providers: [Px6Client, { provide: UpstreamProvider, useClass: Px6Provider }],
  exports: [UpstreamProvider],
})
export class ProviderModule {}
