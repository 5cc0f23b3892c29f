import { Readable } from 'node:stream';
import { Logger, StreamableFile } from '@nestjs/common';
import { excelWriter } from '../common';

/** Waits for the first chunk, so that an error up to then still gets a normal error response. */
export async function toStream(pieces: AsyncGenerator<string | Buffer>): Promise<Readable> {
  const first = await pieces.next();
  const stream = Readable.from(first.done ? [] : startingWith(first.value, pieces), { highWaterMark: 1 });
  // Close `pieces` here as well: if the stream is never read, `startingWith` does not close it.
  return stream.once('close', () => void pieces.return(undefined));
}

async function* startingWith<Piece>(first: Piece, rest: AsyncGenerator<Piece>): AsyncGenerator<Piece> {
  yield first;
  yield* rest;
}

async function* rewritten(pieces: AsyncGenerator<string>, write: (text: string) => string) {
  for await (const piece of pieces) yield write(piece);
}

export async function csvFile(
  pieces: AsyncGenerator<string>,
  { name, excel }: { readonly name: string; readonly excel: boolean },
): Promise<StreamableFile> {
  return new StreamableFile(await toStream(excel ? rewritten(pieces, excelWriter()) : pieces), {
    type: 'text/csv; charset=utf-8',
    disposition: `attachment; filename="${name}.csv"`,
  }).setErrorLogger(({ stack }) =>
    new Logger('CsvFile').error(`${name} was interrupted while it was sent`, stack),
  );
}
