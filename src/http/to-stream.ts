import { Readable } from 'node:stream';

/**
 * Waits for the first piece, so that an error until then returns an ordinary error response. Further pieces
 * are generated as they are read.
 */
export async function toStream(pieces: AsyncGenerator<string | Buffer>): Promise<Readable> {
  const first = await pieces.next();
  const stream = Readable.from(first.done ? [] : startingWith(first.value, pieces), { highWaterMark: 1 });
  // A generator that was never read does not close the one that it reads.
  return stream.once('close', () => void pieces.return(undefined));
}

async function* startingWith<Piece>(first: Piece, rest: AsyncGenerator<Piece>): AsyncGenerator<Piece> {
  yield first;
  yield* rest;
}
