const END_OF_HEAD = '\r\n\r\n';
const LENGTH = /^content-length:\s*(\d+)\s*$/im;
const CHUNKED = /^transfer-encoding:.*\bchunked\s*$/im;

/** Reads the responses of one connection and keeps only the status and whether the body has begun. */
export class ResponseReader {
  status = 0;
  /** Whether the first byte of the body has arrived. */
  hasBegun = false;
  private part: 'head' | 'body' | 'chunk-size' | 'chunk' | 'trailer' = 'head';
  /** The part of the head, or of a line between chunks, that has arrived. */
  private text = '';
  private left = 0;

  /** Consumes bytes. Gives true when they complete a response; no byte may follow it. */
  take(bytes: Buffer): boolean {
    let at = 0;
    while (at < bytes.length) {
      if (this.part === 'body' || this.part === 'chunk') {
        this.hasBegun = true;
        const taken = Math.min(this.left, bytes.length - at);
        this.left -= taken;
        at += taken;
        if (this.left > 0) return false;
        if (this.part === 'body') return this.end();
        this.part = 'chunk-size';
      } else {
        const end = this.part === 'head' ? END_OF_HEAD : '\r\n';
        const text = this.text + bytes.toString('latin1', at);
        const endsAt = text.indexOf(end);
        if (endsAt === -1) {
          this.text = text;
          return false;
        }
        at += endsAt + end.length - this.text.length;
        this.text = '';
        if (this.readLine(text.slice(0, endsAt))) return this.end();
      }
    }
    return false;
  }

  /** Gives true when the response ends with this line. */
  private readLine(line: string): boolean {
    if (this.part === 'head') {
      this.status = Number(line.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
      this.hasBegun = false;
      const length = LENGTH.exec(line)?.[1];
      if (length === undefined && !CHUNKED.test(line)) throw new Error('A response without a length');
      this.part = length === undefined ? 'chunk-size' : 'body';
      this.left = Number(length ?? 0);
      return length === '0';
    }
    if (this.part === 'trailer') return line === '';
    const size = Number.parseInt(line, 16);
    if (Number.isNaN(size)) throw new Error('A chunk without a size');
    this.part = size === 0 ? 'trailer' : 'chunk';
    // Including the CRLF that follows the chunk.
    this.left = size + 2;
    return false;
  }

  private end(): true {
    this.part = 'head';
    return true;
  }
}
