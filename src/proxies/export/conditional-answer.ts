import { pipeline } from 'node:stream/promises';
import type { Request, Response } from 'express';
import { disconnection, toStream } from '../../http';
import { entityTag, type ListRevision } from '../list-revision.service';
import { formatOf } from './formats';
import { type ExportOptions, type ProxyExportService, variantOf } from './proxy-export.service';

interface ConditionalAnswer {
  readonly tag: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Called only when the caller does not have the answer already. */
  readonly write: (closed: AbortSignal) => Promise<Buffer | AsyncGenerator<Buffer>>;
}

/**
 * Answers with 304 when the caller has the answer already. Only the caller may store it, and asks again
 * before each use.
 */
export async function sendConditionally(
  request: Request,
  response: Response,
  { tag, headers, write }: ConditionalAnswer,
): Promise<void> {
  response.set({ ETag: tag, 'Cache-Control': 'private, no-cache', Vary: 'Authorization' });
  if (request.fresh) {
    response.status(304).end();
    return;
  }
  const body = await write(disconnection(response));
  const stream = Buffer.isBuffer(body) ? undefined : await toStream(body);
  // Not Express's method, which would add a charset to any type.
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
  if (!stream) response.send(body);
  else if (request.method !== 'HEAD') await pipeline(stream, response);
  else {
    // Node drops the body as fast as it is written, so that all of it would be.
    stream.destroy();
    response.flushHeaders();
    response.end();
  }
}

/**
 * Sends an export as a file, or 304 to a caller who has it already.
 *
 * @param place where the export is asked for. Each has tags of its own, which tell nothing about others
 */
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
