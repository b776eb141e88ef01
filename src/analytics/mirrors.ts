/** The name of player-mirror's position. */
export const PLAYERS_MIRROR = 'players';
/** The name of send-mirror's position: all changes up to it are in ClickHouse. */
export const SENDS_MIRROR = 'message_sends';
/** The name of journey-mirror's position. */
export const JOURNEYS_MIRROR = 'journey_steps';

/** A table of Postgres that is mirrored: its rows have a `changed_xid`, and this id. */
export interface MirroredTable {
  table:
    'player_totals' | 'player_merges' | 'player_changes' | 'message_sends' | 'journey_runs' | 'journey_steps';
  row_id: 'player_id' | 'change_id' | 'send_id' | 'run_id';
}

/** A table of ClickHouse that a mirror writes, with the tables of Postgres that its rows are made of. */
export interface MirrorCopy {
  copy: 'players' | 'message_sends' | 'journey_runs' | 'journey_steps';
  row_id: MirroredTable['row_id'];
  tables: readonly MirroredTable[];
  /** Rows of Postgres are never removed: one that only ClickHouse has is of a later state. */
  is_kept: boolean;
}

/** A change feed from Postgres to ClickHouse. */
export interface Mirror {
  /** The name of its position. */
  name: string;
  processor: string;
  /** What waits while it is behind, for messages. */
  rows: string;
  copies: readonly MirrorCopy[];
  /** What the mirror follows, by `changed_xid` and within a transaction by the id; without it the tables of its copies. */
  feed?: MirroredTable;
}

const totals: MirroredTable = { table: 'player_totals', row_id: 'player_id' };
const merges: MirroredTable = { table: 'player_merges', row_id: 'player_id' };
const changes: MirroredTable = { table: 'player_changes', row_id: 'change_id' };
const sends: MirroredTable = { table: 'message_sends', row_id: 'send_id' };
const runs: MirroredTable = { table: 'journey_runs', row_id: 'run_id' };
const steps: MirroredTable = { table: 'journey_steps', row_id: 'run_id' };

export const PLAYERS: Mirror = {
  name: PLAYERS_MIRROR,
  processor: 'player-mirror',
  rows: 'changed players',
  copies: [{ copy: 'players', row_id: 'player_id', tables: [totals, merges], is_kept: true }],
  feed: changes,
};
export const SENDS: Mirror = {
  name: SENDS_MIRROR,
  processor: 'send-mirror',
  rows: 'changed messages',
  copies: [{ copy: 'message_sends', row_id: 'send_id', tables: [sends], is_kept: false }],
};
export const JOURNEYS: Mirror = {
  name: JOURNEYS_MIRROR,
  processor: 'journey-mirror',
  rows: 'runs and steps of journeys',
  copies: [
    { copy: 'journey_runs', row_id: 'run_id', tables: [runs], is_kept: true },
    { copy: 'journey_steps', row_id: 'run_id', tables: [steps], is_kept: false },
  ],
};

/** Every mirror. */
export const MIRRORS: readonly Mirror[] = [PLAYERS, SENDS, JOURNEYS];

/** The tables of Postgres that a mirror follows. */
export function followedTables({ copies, feed }: Pick<Mirror, 'copies' | 'feed'>): readonly MirroredTable[] {
  return feed === undefined ? copies.flatMap(({ tables }) => tables) : [feed];
}
