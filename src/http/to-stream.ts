import { Readable } from 'node:stream';

/**
 * Waits for the first piece, so that an error until then is answered like any other. Further pieces are
 * made as they are read.
 */
export async function toStream(pieces: AsyncGenerator<string | Buffer>): Promise<Readable> {
  const first = await pieces.next();
  const stream = Readable.from(first.done ? [] : startingWith(first.value, pieces), { highWaterMark: 1 });
  // A generator that nobody has begun to read does not end the one that it reads.
  return stream.once('close', () => void pieces.return(undefined));
}

async function* startingWith<Piece>(first: Piece, rest: AsyncGenerator<Piece>): AsyncGenerator<Piece> {
  yield first;
  yield* rest;
}
