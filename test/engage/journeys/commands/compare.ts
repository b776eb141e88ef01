import { v5 as uuidv5 } from 'uuid';
import type { Db } from '../../../../src/platform/postgres/port.ts';
import type { Model, ModelRun } from './model.ts';

/** The journey of a model, and its players as the service knows them. */
export interface Real {
  journey_id: string;
  player_ids: readonly string[];
}

interface StoredRun {
  run_id: string;
  player_id: string;
  version: number;
  status: string;
  node_id: string;
  seq: number;
  outcome: string | null;
  cancelled_by: string | null;
  error_code: string | null;
  due_at: Date | null;
  entered_at: Date | null;
}

interface StoredEffect {
  run_id: string;
  node_id: string;
  player_id: string;
  state: string;
  event_id: string | null;
}

/** Gives the one run that the service has begun for an event its id, in the model. */
export async function bindNew(sql: Db, { journey_id, player_ids }: Real, model: Model): Promise<void> {
  const rows = await sql<{ run_id: string; player_id: string }[]>`
    select run_id, player_id from journey_runs where journey_id = ${journey_id}`;
  const known = new Set(model.runs.map(({ run_id }) => run_id));
  const unbound = model.runs.filter(({ run_id }) => run_id === undefined);
  for (const { run_id, player_id } of rows) {
    if (known.has(run_id)) continue;
    const run = unbound.find((one) => one.run_id === undefined && player_ids[one.player] === player_id);
    if (run !== undefined) run.run_id = run_id;
  }
}

/** Everything that the service has of the journey, in the words of {@link expectedOf}. */
export async function actualOf(sql: Db, { journey_id, player_ids }: Real): Promise<object> {
  const runs = await sql<StoredRun[]>`
    select run_id, player_id, version, status, node_id, seq, outcome, cancelled_by, error_code, due_at, entered_at
    from journey_runs where journey_id = ${journey_id}`;
  const ids = sql`(select run_id from journey_runs where journey_id = ${journey_id})`;
  const steps = await sql<{ run_id: string; seq: number; text: string }[]>`
    select run_id, seq, concat_ws(' ', seq, node_id, status, outcome, coalesce(next_node_id, '-'), error_code) as text
    from journey_steps where run_id in ${ids} order by run_id, seq`;
  const sends = await sql<StoredEffect[]>`
    select journey_run_id as run_id, dedup_key as node_id, player_id, null as event_id,
      case when error_code = 'SKIPPED_CANCELLED' then 'cancelled' else status end as state
    from message_sends where journey_run_id in ${ids}`;
  const calls = await sql<StoredEffect[]>`
    select run_id, node_id, player_id, event_id, status as state from webhook_deliveries where run_id in ${ids}`;
  const places = await sql<{ run_id: string; what: string }[]>`
    select t.run_id, 'timer ' || epoch_ms(t.due_at) as what from journey_timers t
      join journey_runs r on r.run_id = t.run_id and r.seq = t.seq and r.status = 'running'
      where r.journey_id = ${journey_id}
    union all select w.run_id, 'wait ' || w.player_id || ' ' || w.seq from journey_waits w
      where w.run_id in ${ids} and w.seq > 0`;
  const players = await sql<{ player_id: string; marks: string[]; is_excluded: boolean }[]>`
    select player_id, array(select jsonb_object_keys(custom_attributes) order by 1)::text[] as marks,
      self_excluded as is_excluded
    from players where player_id = any(${`{${player_ids.join(',')}}`}::text::uuid[]) and deleted_at is null`;
  const of = <T extends { run_id: string }>(rows: readonly T[], run_id: string) =>
    rows.filter((row) => row.run_id === run_id);
  return {
    runs: sorted(
      runs.map((run) => ({
        run_id: run.run_id,
        place: [run.player_id, `version ${run.version}`, run.status, run.node_id, `seq ${run.seq}`].join(' '),
        end: [run.outcome, run.cancelled_by, run.error_code],
        due_ms: run.due_at?.getTime() ?? null,
        steps: of(steps, run.run_id).map(({ text }) => text),
        sends: effectsOf(of(sends, run.run_id), run.player_id),
        calls: effectsOf(of(calls, run.run_id), undefined),
        places: of(places, run.run_id)
          .map(({ what }) => what)
          .toSorted(),
      })),
    ),
    players: Object.fromEntries(players.map((one) => [one.player_id, [one.is_excluded, ...one.marks]])),
  };
}

/** A message goes to the player that the run is of. */
function effectsOf(rows: readonly StoredEffect[], player_id: string | undefined): string[] {
  return rows
    .map((row) => {
      const of_other = player_id === undefined || row.player_id === player_id ? '' : ' to another player';
      const is_odd = row.event_id !== null && row.event_id !== uuidv5(row.node_id, row.run_id);
      return `${row.node_id} ${row.state}${of_other}${is_odd ? ' with another event id' : ''}`;
    })
    .toSorted();
}

/** What the service is to have. While the journey is held, its timers are not looked at. */
export function expectedOf(model: Model, { player_ids }: Real, actual: object): object {
  const { runs } = actual as { runs: { run_id: string; places: string[] }[] };
  const left = new Map(runs.map(({ run_id, places }) => [run_id, places]));
  return {
    runs: sorted(model.runs.map((run) => expectedRun(model, run, player_ids, left))),
    players: Object.fromEntries(
      model.players.flatMap(({ into, is_excluded, marks }, i) =>
        into === undefined ? [[player_ids[i] ?? '', [is_excluded, ...[...marks].toSorted()]]] : [],
      ),
    ),
  };
}

function expectedRun(
  model: Model,
  run: ModelRun,
  player_ids: readonly string[],
  left: ReadonlyMap<string, string[]>,
) {
  const { run_id = `unknown ${run.key}`, steps, sends, calls } = run;
  const is_running = run.status === 'running';
  const seq = is_running ? steps.length + 1 : steps.length;
  const player_id = player_ids[run.player] ?? '';
  const waits = is_running && model.isWaiting(run) ? [`wait ${player_id} ${seq}`] : [];
  const timers =
    is_running && model.is_held
      ? (left.get(run_id) ?? []).filter((what) => what.startsWith('timer'))
      : is_running
        ? [`timer ${run.due_ms}`]
        : [];
  return {
    run_id,
    place: [player_id, `version ${run.version}`, run.status, run.node, `seq ${seq}`].join(' '),
    end: [run.outcome, run.cancelled_by, null],
    due_ms: is_running ? run.due_ms : null,
    steps: steps.map((step, i) =>
      [i + 1, step.node_id, step.status, step.outcome, step.next_node_id ?? '-', step.error_code ?? '']
        .join(' ')
        .trim(),
    ),
    sends: [...sends].map(([node, state]) => `${node} ${state}`).toSorted(),
    calls: [...calls].map(([node, state]) => `${node} ${state}`).toSorted(),
    places: [...timers, ...waits].toSorted(),
  };
}

function sorted<T extends { run_id: string }>(runs: readonly T[]): T[] {
  return runs.toSorted((a, b) => (a.run_id < b.run_id ? -1 : 1));
}
