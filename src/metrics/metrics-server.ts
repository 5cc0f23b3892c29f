import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import {
  type BeforeApplicationShutdown,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
} from '@nestjs/common';
import { listen, stackOf } from '../common';
import { AppConfig } from '../config';
import { Metrics } from './metrics';

const CONTENT_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

const MAX_CONNECTIONS = 50;
const REQUEST_TIMEOUT_MS = 10_000;

/** Serves `GET /metrics` on a separate port, which can be closed to customers. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger(MetricsServer.name);
  private server: Server | undefined;
  url: string | undefined;

  constructor(
    private readonly metrics: Metrics,
    private readonly config: AppConfig,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    const { host, port } = this.config.metrics;
    if (port === undefined) return;
    const server = createServer((request, response) => void this.respond(request, response));
    server.maxConnections = MAX_CONNECTIONS;
    server.requestTimeout = REQUEST_TIMEOUT_MS;
    this.server = server;
    this.url = `${await listen(server, host, port, 'choose another with METRICS_PORT.')}/metrics`;
    this.logger.log(`serving metrics at ${this.url}`);
  }

  /** Stops serving after the orders in progress have ended, but before the database closes. */
  async beforeApplicationShutdown(): Promise<void> {
    const { server } = this;
    if (!server?.listening) return;
    const closed = once(server, 'close');
    server.close();
    server.closeAllConnections();
    await closed;
  }

  private async respond({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const isKnown = url === '/metrics' || url?.startsWith('/metrics?') === true;
    if (!isKnown || (method !== 'GET' && method !== 'HEAD')) {
      response.writeHead(isKnown ? 405 : 404).end();
      return;
    }
    try {
      const text = await this.metrics.render();
      response.writeHead(200, { 'Content-Type': CONTENT_TYPE });
      response.end(method === 'HEAD' ? undefined : text);
    } catch (error) {
      this.logger.error('could not collect the metrics', stackOf(error));
      response.writeHead(500).end();
    }
  }
}
