const END_OF_HEAD = '\r\n\r\n';
const LENGTH = /^content-length:\s*(\d+)\s*$/im;
const CHUNKED = /^transfer-encoding:.*\bchunked\s*$/im;

/** Reads the answers of one connection, one at a time, and keeps nothing of them but the status and when the body began. */
export class ResponseReader {
  status = 0;
  /** Whether the first byte of the body has come. */
  hasBegun = false;
  private part: 'head' | 'body' | 'chunk-size' | 'chunk' | 'trailer' = 'head';
  /** Of the head, or of a line between chunks, as far as it has come. */
  private text = '';
  private left = 0;

  /** Takes what has come. True when an answer is complete; nothing may come after it before the next request. */
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

  /** True when it was the last one. */
  private readLine(line: string): boolean {
    if (this.part === 'head') {
      this.status = Number(line.slice('HTTP/1.1 '.length, 'HTTP/1.1 200'.length));
      this.hasBegun = false;
      const length = LENGTH.exec(line)?.[1];
      if (length === undefined && !CHUNKED.test(line)) throw new Error('an answer without a length');
      this.part = length === undefined ? 'chunk-size' : 'body';
      this.left = Number(length ?? 0);
      return length === '0';
    }
    if (this.part === 'trailer') return line === '';
    const size = Number.parseInt(line, 16);
    if (Number.isNaN(size)) throw new Error('a chunk without a size');
    this.part = size === 0 ? 'trailer' : 'chunk';
    // With the line end behind it.
    this.left = size + 2;
    return false;
  }

  private end(): true {
    this.part = 'head';
    return true;
  }
}
