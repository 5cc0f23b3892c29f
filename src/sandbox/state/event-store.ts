import { join } from 'node:path';
import { eventsOf } from './compaction';
import { FileJournal, type Journal, MEMORY_ONLY, readJournal, replaceJournal } from './journal';
import { ProviderState } from './provider-state';
import type { StateEvent } from './state-event';

const JOURNAL_FILE = 'journal.jsonl';
/** A shorter journal is read quickly anyway. */
const WORTH_COMPACTING_LINES = 5000;

/** Applies events to the state and appends them to the journal. */
export class EventStore {
  private constructor(
    readonly state: ProviderState,
    private readonly journal: Journal,
  ) {}

  /** Without a directory the state exists only in memory. */
  static async openIn(directory: string | undefined): Promise<EventStore> {
    const state = new ProviderState();
    if (directory === undefined) return new EventStore(state, MEMORY_ONLY);
    const path = join(directory, JOURNAL_FILE);
    const lines = await readJournal(path);
    lines.forEach((line, index) => state.apply(parse(line, index + 1)));
    await compactIfWorthwhile(path, state, lines.length);
    return new EventStore(state, await FileJournal.openAt(path));
  }

  /** Takes effect at once; durable after {@link durable}. */
  record(event: StateEvent): void {
    this.state.apply(event);
    this.journal.append(JSON.stringify(event));
  }

  durable(): Promise<void> {
    return this.journal.written();
  }

  close(): Promise<void> {
    return this.journal.close();
  }
}

function parse(line: string, number: number): StateEvent {
  try {
    // Only this class writes the file.
    const event: StateEvent = JSON.parse(line);
    return event;
  } catch {
    throw new Error(`The sandbox's journal is damaged in line ${number}`);
  }
}

async function compactIfWorthwhile(path: string, state: ProviderState, lineCount: number): Promise<void> {
  const kept = state.sales.length + state.prolongations.length;
  if (lineCount > WORTH_COMPACTING_LINES && lineCount > 2 * kept) {
    await replaceJournal(
      path,
      Array.from(eventsOf(state), (event) => JSON.stringify(event)),
    );
  }
}
