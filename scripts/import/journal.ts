import { open, readFile, rename, type FileHandle } from 'node:fs/promises';
import { z } from 'zod';
import type { Position } from './lines.ts';
import { ImportError } from './refusal.ts';

const whole = z.int().min(0);

/** What became of the lines before the position. */
const countsSchema = z.strictObject({
  /** Records: a line, or the lines of a quoted text. */
  lines: whole,
  /** Lines of which every event was accepted. */
  accepted: whole,
  refused: whole,
  /** Lines for which the mapping has no event. */
  skipped: whole,
  /** Accepted events. */
  events: whole,
});
export type Counts = z.infer<typeof countsSchema>;

const stateSchema = z.strictObject({
  version: z.literal(1),
  /** What the position belongs to; an import of anything else is refused. */
  of: z.strictObject({ file: z.string(), mapping: z.string(), target: z.string(), source: z.string() }),
  started_at: z.iso.datetime(),
  /** The first line that is not known to be accepted, refused or skipped. */
  position: z.strictObject({ offset: whole, line: whole }),
  counts: countsSchema,
  /** How much of the file of verdicts belongs to the position. */
  verdicts_bytes: whole,
  /** The last accepted event. */
  last_event: z.strictObject({ ingestion_id: z.string(), index: whole }).nullable(),
  is_done: z.boolean(),
});
export type ImportState = z.infer<typeof stateSchema>;

/** What an import is of: hashes of the file, the mapping and the receiver, and the source of derived ids. */
export type ImportOf = ImportState['of'];

const CHANGED: Record<keyof ImportOf, string> = {
  file: 'the file has changed',
  mapping: 'the mapping has changed',
  target: 'it was sent with another API key or to another address',
  source: 'it had another --source',
};

/** A line of the file of verdicts. */
export type Verdict =
  | { lines: [number, number]; verdict: 'accepted'; events: number; ingestion_ids: string[] }
  | { line: number; verdict: 'refused'; event?: string; code: string; reason: string }
  | { line: number; verdict: 'skipped' };

/**
 * The state of an import and its verdicts, in two files. The verdicts are on disk before the state that counts them, and
 * a new run cuts off what no state counts: so every line has one verdict, also after a kill.
 */
export class Journal {
  readonly #path: string;
  readonly #verdicts: FileHandle;
  #state: ImportState;
  #unwritten: string[] = [];

  private constructor(path: string, verdicts: FileHandle, state: ImportState) {
    [this.#path, this.#verdicts, this.#state] = [path, verdicts, state];
  }

  /** Reads the state of an earlier run, or begins one at `first`. Rejects with ImportError when it is of another import. */
  static async open(
    paths: { state: string; verdicts: string },
    of: ImportOf,
    first: Position,
    now_ms: number,
  ): Promise<Journal> {
    const started = {
      version: 1 as const,
      of,
      started_at: new Date(now_ms).toISOString(),
      position: { ...first },
      counts: { lines: 0, accepted: 0, refused: 0, skipped: 0, events: 0 },
      verdicts_bytes: 0,
      last_event: null,
      is_done: false,
    };
    const state = (await readState(paths.state)) ?? started;
    for (const [key, what] of Object.entries(CHANGED)) {
      if (state.of[key as keyof ImportOf] === of[key as keyof ImportOf]) continue;
      throw new ImportError(
        `${paths.state} belongs to another import: ${what}. Delete it to import the file from its beginning, ` +
          'or name another file with --state. Lines whose events have ids of their own count once.',
      );
    }
    // Not `r+`: the file may be absent.
    const verdicts = await open(paths.verdicts, 'a', 0o600);
    const { size } = await verdicts.stat();
    if (size < state.verdicts_bytes) {
      await verdicts.close();
      throw new ImportError(
        `${paths.verdicts} is shorter than ${paths.state} says: delete both to import the file from its beginning`,
      );
    }
    await verdicts.truncate(state.verdicts_bytes);
    return new Journal(paths.state, verdicts, state);
  }

  get state(): Readonly<ImportState> {
    return this.#state;
  }

  /** Notes what became of the lines up to `position`; {@link commit} writes it. */
  note(
    position: Position,
    counts: Counts,
    verdicts: readonly Verdict[],
    last_event: ImportState['last_event'] | undefined,
  ): void {
    const before = this.#state.counts;
    const sums = Object.fromEntries(
      Object.entries(before).map(([name, count]) => [name, count + counts[name as keyof Counts]]),
    );
    this.#state = {
      ...this.#state,
      position,
      counts: sums as Counts,
      last_event: last_event ?? this.#state.last_event,
    };
    for (const verdict of verdicts) this.#unwritten.push(`${JSON.stringify(verdict)}\n`);
  }

  /** Makes what was noted durable. */
  async commit(is_done = false): Promise<void> {
    const bytes = Buffer.from(this.#unwritten.join(''));
    this.#unwritten = [];
    await this.#verdicts.appendFile(bytes);
    await this.#verdicts.datasync();
    this.#state = { ...this.#state, verdicts_bytes: this.#state.verdicts_bytes + bytes.length, is_done };
    await writeDurably(this.#path, `${JSON.stringify(this.#state, null, 2)}\n`);
  }

  close(): Promise<void> {
    return this.#verdicts.close();
  }
}

async function readState(path: string): Promise<ImportState | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
  try {
    return stateSchema.parse(JSON.parse(text));
  } catch {
    throw new ImportError(`${path} is not the state of an import: name another file with --state`);
  }
}

/** Renamed into place: a process that is killed while it writes leaves the file as it was. */
async function writeDurably(path: string, text: string): Promise<void> {
  const handle = await open(`${path}.new`, 'w', 0o600);
  try {
    await handle.writeFile(text);
    await handle.datasync();
  } finally {
    await handle.close();
  }
  await rename(`${path}.new`, path);
}
