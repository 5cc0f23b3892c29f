import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import type { RequestHandler, Response } from 'express';

interface Page {
  readonly headers: Readonly<Record<string, string>>;
  readonly whole: Buffer;
  readonly zipped: Buffer;
}

/** Caches the next handler's page, because generating a page may take 200 ms and anyone may request it. */
export function writtenOnce(): RequestHandler {
  let page: Page | undefined;
  return (request, response, next) => {
    const send = response.send.bind(response);
    const sendPage = ({ headers, whole, zipped }: Page): Response => {
      response.set(headers);
      if (!request.acceptsEncodings('gzip')) return send(whole);
      return response.set('Content-Encoding', 'gzip') && send(zipped);
    };
    if (page) {
      sendPage(page);
      return;
    }
    response.send = (content: string | Buffer) => {
      if (response.statusCode !== 200) return send(content);
      page = toPage(content, response.get('Content-Type') ?? 'text/plain');
      return sendPage(page);
    };
    next();
  };
}

function toPage(content: string | Buffer, type: string): Page {
  const whole = typeof content === 'string' ? Buffer.from(content) : content;
  const hash = createHash('sha256').update(whole).digest('base64url').slice(0, 22);
  // A weak ETag, because the compressed and the plain page share it.
  return {
    headers: { 'Content-Type': type, ETag: `W/"${hash}"`, Vary: 'Accept-Encoding' },
    whole,
    zipped: gzipSync(whole),
  };
}
