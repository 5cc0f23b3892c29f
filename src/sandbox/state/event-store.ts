import { join } from 'node:path';
import { Journal, readJournal } from './journal';
import { ProviderState } from './provider-state';
import type { StateEvent } from './state-event';

const JOURNAL_FILE = 'journal.jsonl';

export class EventStore {
  private constructor(
    readonly state: ProviderState,
    private readonly journal?: Journal,
  ) {}

  static async openIn(directory: string | undefined): Promise<EventStore> {
    const state = new ProviderState();
    if (directory === undefined) return new EventStore(state);
    const path = join(directory, JOURNAL_FILE);
    const lines = await readJournal(path);
    lines.forEach((line, index) => state.apply(parse(line, index + 1)));
    return new EventStore(state, await Journal.openAt(path));
  }

  /** The event is stored once `durable` resolves. */
  record(event: StateEvent): void {
    this.state.apply(event);
    this.journal?.append(JSON.stringify(event));
  }

  durable(): Promise<void> {
    return this.journal?.written() ?? Promise.resolve();
  }

  async close(): Promise<void> {
    await this.journal?.close();
  }
}

function parse(line: string, number: number): StateEvent {
  try {
    // No validation: only this class writes the file.
    const event: StateEvent = JSON.parse(line);
    return event;
  } catch {
    throw new Error(`The sandbox's journal is damaged in line ${number}`);
  }
}
