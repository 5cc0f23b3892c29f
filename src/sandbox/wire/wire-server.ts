import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { KEEP_ALIVE_MS, stopListening } from '../system';
import { applyFault, type Fault } from './faults/fault';
import type { FaultPlan } from './faults/fault-plan';
import type { Gates, GateStage } from './faults/gates';
import { type Latencies, pickLatencyMs } from './latency';
import { DEFAULT_EFFECT, type Provider } from './methods/wire-method';
import { WIRE_METHODS, type WireMethodName } from './methods/wire-methods';
import type { Query } from './query';
import type { Call, ReceivedCalls } from './received-calls';
import { sendDripping, sendHtml, sendJson, sendJsonInHalves, sendText, sendTruncated } from './responses';
import type { SlidingRateLimit } from './sliding-rate-limit';
import { findWireAddress } from './wire-address';
import { WIRE_ERRORS, WireError, type WireErrorId } from './wire-error';
import { balanceText, roubles, wireJson } from './wire-formats';

/** Enough for `prolong` with a thousand ids. */
const MAX_HEADER_BYTES = 64 * 1024;

/** Methods that respond with the balance as a number. Other methods send it as a string. */
const CHARGING: ReadonlySet<WireMethodName> = new Set(['buy', 'prolong']);

export interface WireServerParts {
  provider: Provider;
  /** API keys and their accounts. */
  keys: Map<string, string>;
  rateLimit: SlidingRateLimit;
  latencies: { current: Latencies };
  faults: FaultPlan;
  gates: Gates;
  calls: ReceivedCalls;
}

class ConnectionDropped extends Error {}

interface Exchange {
  method: WireMethodName;
  userId: string;
  query: Query;
  parameters: Record<string, string>;
  response: ServerResponse;
  call: Call;
}

export class WireServer {
  readonly server: Server;
  private readonly closing = new AbortController();
  private readonly underWay = new Set<Promise<void>>();

  constructor(private readonly parts: WireServerParts) {
    setMaxListeners(0, this.closing.signal);
    const options = { maxHeaderSize: MAX_HEADER_BYTES, keepAliveTimeout: KEEP_ALIVE_MS };
    this.server = createServer(options, (request, response) => {
      const served = this.serve(request, response).finally(() => this.underWay.delete(served));
      this.underWay.add(served);
    });
  }

  /** Aborts calls that have not been executed yet, and lets the others respond. */
  async close(): Promise<void> {
    const stopped = stopListening(this.server);
    this.closing.abort();
    this.parts.gates.close();
    await Promise.all(this.underWay);
    this.server.closeIdleConnections();
    // A client that does not read its response must not keep the process alive.
    const cutOff = setTimeout(() => this.server.closeAllConnections(), 500);
    await stopped;
    clearTimeout(cutOff);
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    request.resume();
    const address = findWireAddress(request.url ?? '');
    if (!address) return sendText(response, 404, 'Not Found');
    if (request.method !== 'GET') return sendText(response, 405, 'Method Not Allowed', { allow: 'GET' });
    const { key, method, methodText, query } = address;
    const parameters = query.toObject();
    const call = this.parts.calls.add(method ?? methodText, parameters);
    response.once('finish', () => {
      call.status = response.statusCode;
      call.respondedAtMs = performance.timeOrigin + performance.now();
    });
    const userId = this.parts.keys.get(key);
    if (userId === undefined) return this.refuse(response, call, 100);
    if (!this.parts.rateLimit.admits(performance.now())) return sendText(response, 429, 'Too Many Requests');
    if (!method) return this.refuse(response, call, 110);
    try {
      await this.handle({ method, userId, query, parameters, response, call });
    } catch (error) {
      this.giveUp(response, error);
    }
  }

  private async handle(exchange: Exchange): Promise<void> {
    const { method, parameters, call } = exchange;
    const fault = this.parts.faults.take(method, parameters);
    call.fault = fault?.id ?? null;
    await this.hold('received', exchange);
    await this.wait(pickLatencyMs(this.parts.latencies.current, method) + (fault?.beforeMs ?? 0));
    const body = fault?.effect === false ? '' : await this.execute(exchange, fault);
    // Store the effect before sending any response, even if a fault will drop it.
    await this.parts.provider.store.durable();
    await this.hold('executed', exchange);
    await this.wait(fault?.afterMs ?? 0);
    await this.respond(exchange, body, fault);
  }

  private async execute({ method, userId, query, call }: Exchange, fault: Fault | null): Promise<string> {
    const { provider } = this.parts;
    try {
      const fields = await WIRE_METHODS[method](provider, query, fault ?? DEFAULT_EFFECT);
      const { balanceKopecks } = provider.store.state;
      const response = {
        status: 'yes',
        user_id: userId,
        balance: CHARGING.has(method) ? roubles(balanceKopecks) : balanceText(balanceKopecks),
        currency: fault?.kind === 'wrong-currency' ? fault.currency : 'RUB',
        ...fields,
      };
      return wireJson(fault ? applyFault(response, fault) : response, provider.dialect.current);
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      call.errorId = error.id;
      return this.errorBody(error.id);
    }
  }

  private async respond(exchange: Exchange, body: string, fault: Fault | null): Promise<void> {
    const { response, call } = exchange;
    switch (fault?.kind) {
      case 'response-lost':
        throw new ConnectionDropped();
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'hang':
        return this.waitForEnd(response);
      case 'http-status':
        return sendText(response, fault.status, `HTTP ${fault.status}`);
      case 'error':
        return this.refuse(response, call, fault.errorId);
      case 'html':
        return sendHtml(response);
      case 'truncated-json':
        return sendTruncated(response, body, fault);
      case 'drip':
        return sendDripping(response, body, fault, this.closing.signal);
      case 'late':
      case 'short-list':
      case 'late-listing':
      case 'wrong-currency':
      case 'altered':
      case undefined:
        return this.respondRegularly(exchange, body);
    }
  }

  private async respondRegularly(exchange: Exchange, body: string): Promise<void> {
    const { method, parameters, response } = exchange;
    if (!this.parts.gates.awaits('half-sent', method, parameters)) return sendJson(response, body);
    await sendJsonInHalves(response, body, () => this.hold('half-sent', exchange));
  }

  private refuse(response: ServerResponse, call: Call, errorId: WireErrorId): void {
    call.errorId = errorId;
    sendJson(response, this.errorBody(errorId));
  }

  private errorBody(id: WireErrorId): string {
    const response = { status: 'no', error_id: id, error: WIRE_ERRORS[id] };
    return wireJson(response, this.parts.provider.dialect.current);
  }

  private async hold(stage: GateStage, { method, parameters }: Exchange): Promise<void> {
    if ((await this.parts.gates.hold(stage, method, parameters)) === 'drop') throw new ConnectionDropped();
  }

  private async wait(ms: number): Promise<void> {
    if (ms > 0) await sleep(ms, undefined, { signal: this.closing.signal });
  }

  private async waitForEnd(response: ServerResponse): Promise<never> {
    if (!response.closed) await once(response, 'close', { signal: this.closing.signal });
    throw new ConnectionDropped();
  }

  /** Responds with 500 after an internal error, because the outcome is unknown. */
  private giveUp(response: ServerResponse, error: unknown): void {
    const isDropped = error instanceof ConnectionDropped || this.closing.signal.aborted;
    if (isDropped || response.headersSent) response.destroy();
    else sendText(response, 500, 'Internal Server Error');
  }
}
