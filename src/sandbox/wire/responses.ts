import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from './faults/fault';

export const HTML_PAGE =
  '<!DOCTYPE html><html><head><title>Just a moment...</title></head>' +
  '<body>Checking your browser</body></html>';

const JSON_TYPE = 'application/json';

export function sendText(response: ServerResponse, status: number, text: string, headers = {}): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', ...headers });
  response.end(text);
}

export function sendHtml(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' });
  response.end(HTML_PAGE);
}

export function sendJson(response: ServerResponse, body: string): void {
  writeJsonHead(response, Buffer.byteLength(body));
  response.end(body);
}

export async function sendJsonInHalves(
  response: ServerResponse,
  body: string,
  between: () => Promise<void>,
): Promise<void> {
  const bytes = Buffer.from(body);
  const half = Math.floor(bytes.length / 2);
  writeJsonHead(response, bytes.length);
  response.write(bytes.subarray(0, half));
  await between();
  response.end(bytes.subarray(half));
}

export function sendTruncated(response: ServerResponse, body: string, { disconnect }: Fault): void {
  const bytes = Buffer.from(body);
  const half = bytes.subarray(0, Math.floor(bytes.length / 2));
  writeJsonHead(response, disconnect ? bytes.length : half.length);
  if (disconnect) response.write(half, () => response.destroy());
  else response.end(half);
}

export async function sendDripping(
  response: ServerResponse,
  body: string,
  { bytes: step, intervalMs }: Fault,
  closing: AbortSignal,
): Promise<void> {
  const bytes = Buffer.from(body);
  writeJsonHead(response, bytes.length);
  for (let sent = 0; sent < bytes.length && !response.destroyed; sent += step) {
    if (sent > 0) await sleep(intervalMs, undefined, { signal: closing });
    response.write(bytes.subarray(sent, sent + step));
  }
  response.end();
}

function writeJsonHead(response: ServerResponse, length: number): void {
  response.writeHead(200, { 'content-type': JSON_TYPE, 'content-length': length });
}
