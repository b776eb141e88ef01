import type { Emission } from '../../../src/ledger/fold/snapshot.ts';
import type { FoldEvent } from '../../../src/ledger/fold/fold-event.ts';
import type { LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { Dice } from './few-ids.ts';
import type { Outcome, Sums } from './outcome.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { Database, SqlError, Table, Transaction, type Steps } from './read-committed.ts';

/** Faults that can be injected into the model, to prove that its checks would detect them in the code. */
export interface Faults {
  /** The fold ignores players without totals. */
  totals_of_merged_players_are_lost?: boolean;
  /** A conflicting duplicate does not lock the totals of the players that it conflicts with. */
  conflicts_rely_on_nobody?: boolean;
  /** A merge does not check that its players are unchanged. */
  merges_look_at_nobody?: boolean;
  /** A merge moves the identities before it locks the players. */
  identities_move_before_locks?: boolean;
  /** A merge does not update older aliases. */
  aliases_stay_chained?: boolean;
  /** A merge adds totals that it read before it locked them. */
  totals_are_read_before_locks?: boolean;
  /** The fold gives a row of a reference that another one has taken meanwhile the next free ordinal. */
  ordinals_are_not_claimed?: boolean;
  /** The position is updated whatever its value. */
  positions_are_not_compared?: boolean;
  /** After a crash the fold continues at the stored position and emits nothing again. */
  nothing_is_replayed?: boolean;
  /** Identify links an anonymous_id to a player that no longer exists. */
  links_are_not_checked?: boolean;
  /** Identify does not check again whether the player was deleted. */
  deletions_are_not_noticed?: boolean;
  /** The ledger is read without aliases. */
  ledger_knows_no_aliases?: boolean;
}

export interface Player {
  external_id: string | null;
  anonymous_ids: readonly string[];
  self_excluded: boolean;
  deleted: boolean;
  status: string;
}

export const TENANT_ID = '01900000-0000-7000-8000-00000000000a';
export const PROJECT_ID = '01900000-0000-7000-8000-00000000000b';

/** All state outside the processes' memory: the tables, the log, the emissions, and the answers to callers. */
export class World {
  readonly database = new Database();
  /** anonymous_id → player_id. */
  readonly identities = new Table<string>();
  readonly players = new Table<Player>();
  /** external_id → player_id: the unique index. */
  readonly externals = new Table<string>();
  readonly totals = new Table<Sums>();
  /** Merged player_id → survivor's player_id. */
  readonly merges = new Table<{ player_id: string; into: string }>();
  readonly ledger = new Table<LedgerRow>();
  readonly positions = new Table<bigint>();

  /** The log: the events of each partition. */
  readonly log: FoldEvent[][] = [[], []];
  readonly committedOffsets = [0, 0];
  isLogClosed = false;
  /** The events appended to the log, by `<ingestion_id> <index>`. */
  readonly sent = new Map<string, SentEvent>();
  readonly emitted: Emission[] = [];
  /** The answers of identify: the player ids that callers know. */
  readonly answers: Outcome['answers'][number][] = [];
  /** Players at the commit of their deletion. */
  readonly deleted = new Map<string, Player>();
  /** Faults noticed during the run. */
  readonly complaints: string[] = [];
  /** How often each situation occurred: a search that meets none of them proves nothing. */
  readonly met = { merges: 0, lost_races: 0, deadlocks: 0, replays: 0, crashes: 0, conflicts: 0 };
  readonly faults: Faults;
  readonly dice: Dice;

  constructor(seed: number, faults: Faults) {
    this.dice = new Dice(seed);
    this.faults = faults;
  }

  /** A UUID at a random position in the order of ids. */
  newId(): string {
    const hex = () => this.dice.roll(0x1000000).toString(16).padStart(6, '0');
    return `01900000-0000-7000-9000-${hex()}${hex()}`;
  }

  /** The player itself, or its survivor. */
  survivorOf(player_id: string): string {
    return this.merges.committedAt(player_id)?.into ?? player_id;
  }
}

/**
 * A write conflict: the transaction has to be run again. One shared error, because it is thrown very often, and a stack
 * trace for each would take most of the time.
 */
export const LOST_RACE = new Error('a row that was read has moved');

/** One process with its connection. When it dies, it loses its transaction and its memory. */
export class Process {
  readonly world: World;
  readonly steps: Steps;
  /** Makes the process that replaces this one after a crash; undefined when this one may not crash. */
  readonly successor: (() => Process) | undefined;
  #transaction: Transaction | undefined;

  constructor(world: World, work: (process: Process) => Steps, successor?: () => Process) {
    this.world = world;
    this.successor = successor;
    this.steps = work(this);
  }

  isBlocked(): boolean {
    return this.#transaction?.isBlocked() ?? false;
  }

  die(): void {
    this.#transaction?.rollback();
    this.#transaction = undefined;
  }

  /** Runs a transaction: commits at the end, rolls back when it throws. */
  *begin<T>(work: (tx: Transaction) => Steps<T>, atCommit?: (result: T) => void): Steps<T> {
    const tx = new Transaction(this.world.database);
    this.#transaction = tx;
    try {
      const result = yield* work(tx);
      yield;
      atCommit?.(result);
      tx.commit();
      return result;
    } finally {
      // A process that dies is not resumed, so it does not reach this.
      if (!tx.hasEnded) tx.rollback();
      this.#transaction = undefined;
    }
  }

  /** Whether running the transaction again may succeed; any other error is a fault of the model. */
  isWriteConflict(error: unknown): boolean {
    const { met } = this.world;
    if (error instanceof SqlError && error.code === '40P01') met.deadlocks++;
    else if (error === LOST_RACE || error instanceof SqlError) met.lost_races++;
    else return false;
    return true;
  }
}
