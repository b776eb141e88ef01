import type { Emission } from '../../../src/ledger/fold/effects.ts';
import type { FoldEvent } from '../../../src/ledger/fold/fold-event.ts';
import type { LedgerRow } from '../../../src/ledger/money/ledger.ts';
import { Dice } from './few-ids.ts';
import type { Outcome, Sums } from './outcome.ts';
import type { SentEvent } from '../../oracle/oracle.ts';
import { Database, SqlError, Table, Transaction, type Steps } from './read-committed.ts';

/** Faults that can be put into the model, to see that its checks would find them in the code. */
export interface Faults {
  /** The fold takes no notice of a player without totals. */
  totals_of_merged_players_are_lost?: boolean;
  /** A conflicting duplicate does not rely on the totals of those it conflicts with. */
  conflicts_rely_on_nobody?: boolean;
  /** A merge does not look whether its players are still what they were. */
  merges_look_at_nobody?: boolean;
  /** A merge moves the identities before it locks the players. */
  identities_move_before_locks?: boolean;
  /** A merge leaves older aliases as they are. */
  aliases_stay_chained?: boolean;
  /** A merge adds the totals that it read before it locked them. */
  totals_are_read_before_locks?: boolean;
  /** The fold reads bets' rows before their revisions. */
  revisions_are_read_last?: boolean;
  /** The fold overwrites bets at whatever revision. */
  revisions_are_not_compared?: boolean;
  /** The position moves from wherever it is. */
  positions_are_not_compared?: boolean;
  /** After a crash the fold continues at the stored position and repeats nothing. */
  nothing_is_replayed?: boolean;
  /** Identify links an anonymous_id to a player that is gone. */
  links_are_not_checked?: boolean;
  /** Identify does not look again whether the player was deleted. */
  deletions_are_not_noticed?: boolean;
  /** The ledger is read without the aliases. */
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

/** Everything outside the processes' memory: the tables, the log, what was emitted, what callers were told. */
export class World {
  readonly database = new Database();
  /** anonymous_id → player_id. */
  readonly identities = new Table<string>();
  readonly players = new Table<Player>();
  /** external_id → player_id: the unique index. */
  readonly externals = new Table<string>();
  readonly totals = new Table<Sums>();
  /** player_id → into whom it was merged. */
  readonly merges = new Table<{ player_id: string; into: string }>();
  /** Bet key → revision. */
  readonly bets = new Table<number>();
  readonly ledger = new Table<LedgerRow>();
  readonly positions = new Table<bigint>();

  /** The log: the events of each partition. */
  readonly log: FoldEvent[][] = [[], []];
  readonly committedOffsets = [0, 0];
  isLogClosed = false;
  /** What was appended, by `<ingestion_id> <index>`. */
  readonly sent = new Map<string, SentEvent>();
  readonly emitted: Emission[] = [];
  /** What identify answered: the player ids that callers know. */
  readonly answers: Outcome['answers'][number][] = [];
  /** Players as they were when their deletion was committed. */
  readonly deleted = new Map<string, Player>();
  /** What was wrong at the moment it happened. */
  readonly complaints: string[] = [];
  /** How often each thing happened: a search that meets none of it proves nothing. */
  readonly met = { merges: 0, lost_races: 0, deadlocks: 0, replays: 0, crashes: 0, conflicts: 0 };
  readonly faults: Faults;
  readonly dice: Dice;

  constructor(seed: number, faults: Faults) {
    this.dice = new Dice(seed);
    this.faults = faults;
  }

  /** A UUID whose place in the order of ids is random. */
  newId(): string {
    const hex = () => this.dice.roll(0x1000000).toString(16).padStart(6, '0');
    return `01900000-0000-7000-9000-${hex()}${hex()}`;
  }

  /** Who the player is now: itself, or whom it was merged into. */
  survivorOf(player_id: string): string {
    return this.merges.committedAt(player_id)?.into ?? player_id;
  }
}

/**
 * A row that was read has moved: the transaction has to be done again. One for all: it happens at every turn, and a stack
 * for each would take longer than the rest.
 */
export const LOST_RACE = new Error('a row that was read has moved');

/** One process with its connection. Dying, it loses its transaction and its memory. */
export class Process {
  readonly world: World;
  readonly steps: Steps;
  /** A process that may die has something that takes its place. */
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

  /** Runs a transaction: committed at its end, rolled back when it throws. */
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
      // A process that dies is not resumed, and so does not come here.
      if (!tx.hasEnded) tx.rollback();
      this.#transaction = undefined;
    }
  }

  /** Whether doing the transaction again may succeed; any other error is a fault of the model. */
  isWriteConflict(error: unknown): boolean {
    const { met } = this.world;
    if (error instanceof SqlError && error.code === '40P01') met.deadlocks++;
    else if (error === LOST_RACE || error instanceof SqlError) met.lost_races++;
    else return false;
    return true;
  }
}
