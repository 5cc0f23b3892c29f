import { join } from 'node:path';
import { Book } from './book';
import type { BookEvent } from './book-event';
import { eventsOf } from './compaction';
import { FileJournal, type Journal, MEMORY_ONLY, readJournal, replaceJournal } from './journal';

const JOURNAL_FILE = 'journal.jsonl';
/** Below this a journal is read in no time, whatever it holds. */
const WORTH_COMPACTING_LINES = 5000;

/** The book and its journal: what is recorded here is in both. */
export class Ledger {
  private constructor(
    readonly book: Book,
    private readonly journal: Journal,
  ) {}

  /** Without a directory nothing outlives the process. */
  static async openIn(directory: string | undefined): Promise<Ledger> {
    const book = new Book();
    if (directory === undefined) return new Ledger(book, MEMORY_ONLY);
    const path = join(directory, JOURNAL_FILE);
    const lines = await readJournal(path);
    lines.forEach((line, index) => book.apply(parse(line, index + 1)));
    await compactIfWorthwhile(path, book, lines.length);
    return new Ledger(book, await FileJournal.openAt(path));
  }

  /** In effect at once; kept for certain after {@link durable}. */
  record(event: BookEvent): void {
    this.book.apply(event);
    this.journal.append(JSON.stringify(event));
  }

  durable(): Promise<void> {
    return this.journal.written();
  }

  close(): Promise<void> {
    return this.journal.close();
  }
}

function parse(line: string, number: number): BookEvent {
  try {
    // Nothing but a ledger writes the file.
    const event: BookEvent = JSON.parse(line);
    return event;
  } catch {
    throw new Error(`The sandbox's journal is damaged in line ${number}`);
  }
}

async function compactIfWorthwhile(path: string, book: Book, lineCount: number): Promise<void> {
  const kept = book.sales.length + book.prolongations.length;
  if (lineCount > WORTH_COMPACTING_LINES && lineCount > 2 * kept) {
    await replaceJournal(
      path,
      Array.from(eventsOf(book), (event) => JSON.stringify(event)),
    );
  }
}
