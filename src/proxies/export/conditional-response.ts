import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { disconnection, toStream } from '../../http';
import { entityTag, type ListRevision } from '../list-revision.service';
import { formatOf } from './formats';
import { type ExportOptions, type ProxyExportService, variantOf } from './proxy-export.service';

interface ConditionalResponse {
  readonly tag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called only if the client's copy is missing or outdated. */
  readonly write: (closed: AbortSignal) => Promise<Buffer | AsyncGenerator<Buffer>>;
}

/** Sends a response, or 304 if the client already has it. */
export async function sendConditionally(
  request: Request,
  response: Response,
  { tag, headers, write }: ConditionalResponse,
): Promise<void> {
  response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' });
  if (request.fresh) {
    response.status(304).end();
    return;
  }
  const body = await write(disconnection(response));
  const stream = Buffer.isBuffer(body) ? undefined : await toStream(body);
  // `response.set()` would add a charset to every type.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (!stream) response.send(body);
  else if (request.method !== 'HEAD') await pipeline(stream, response);
  else {
    // Node would discard the body of a HEAD response anyway, so stop generating it.
    stream.destroy();
    response.flushHeaders();
    response.end();
  }
}

/** @param place the export's route or link, each of which has its own entity tags */
export function sendExport(
  request: Request,
  response: Response,
  exporter: ProxyExportService,
  revision: ListRevision,
  options: ExportOptions,
  place = '',
): Promise<void> {
  const { contentType, fileName } = formatOf(options);
  return sendConditionally(request, response, {
    tag: entityTag(revision, place + variantOf(options)),
    headers: { 'Content-Type': contentType, 'Content-Disposition': `attachment; filename="${fileName}"` },
    write: (closed) => exporter.get(revision, options, closed),
  });
}
