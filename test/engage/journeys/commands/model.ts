import { ANSWER_MS, SHAPES, type PlainNode } from './shapes.ts';

// What journeys are to do, written from their specification without their code.

export interface ModelStep {
  node_id: string;
  status: 'completed' | 'skipped' | 'failed';
  outcome: string;
  next_node_id: string | null;
  error_code?: string;
}

/** The last answer to a webhook. */
export type Answer = 'delivered' | 'failed';

export interface ModelRun {
  /** Known once the service has begun it. */
  run_id: string | undefined;
  player: number;
  version: number;
  node: string;
  status: 'running' | 'completed' | 'cancelled';
  outcome: 'ended' | 'exited' | null;
  /** Whether somebody, or what, has cancelled it. */
  cancelled_by: string | null;
  /** Until it has come to its first rest it has not entered a node. */
  entered_ms: number | undefined;
  due_ms: number;
  /** What it waited for. */
  woken: 'event' | Answer | undefined;
  is_forced: boolean;
  /** Awaited events that came after the one that has woken it, while it is held. */
  missed: number;
  /** It was merged while it was held with a rest that is over. */
  is_moved: boolean;
  key: string;
  started_ms: number;
  steps: ModelStep[];
  /** Node → what became of its message, or its webhook. */
  sends: Map<string, 'queued' | 'cancelled'>;
  calls: Map<string, 'pending' | Answer | 'cancelled'>;
}

export interface ModelPlayer {
  /** Into whom it was merged. */
  into: number | undefined;
  /** Players with an account stay, others are merged into them. */
  has_account: boolean;
  is_excluded: boolean;
  marks: Set<string>;
  /** When the player last had an event that runs wait for or end by. */
  last_event_ms: number;
}

export interface Rules {
  re_entry: 'always' | 'after_exit' | 'once';
  trigger: 'custom_go' | 'custom_answer';
  exits: boolean;
}

export type JourneyEvent = 'custom_go' | 'custom_answer' | 'custom_leave' | 'self_exclusion_set';

export interface Migration {
  map: ReadonlyMap<string, string>;
  unmapped: 'stay' | 'exit';
  recompute_waits: boolean;
}

/** Why a webhook was given up. */
export const GONE = 'WEBHOOK_GONE';

/** One journey with its players and runs. */
export class Model {
  readonly rules: Rules;
  readonly players: ModelPlayer[];
  readonly runs: ModelRun[] = [];
  /** The shapes of its versions, the first is version 1; and of what was saved last. */
  readonly versions: number[];
  saved: number;
  status: 'active' | 'paused' = 'active';
  is_held = false;
  now_ms: number;
  #events = 0;

  constructor(rules: Rules, shape: number, accounts: readonly boolean[], now_ms: number) {
    this.rules = rules;
    this.versions = [shape];
    this.saved = shape;
    this.now_ms = now_ms;
    this.players = accounts.map((has_account) => {
      return { into: undefined, has_account, is_excluded: false, marks: new Set(), last_event_ms: 0 };
    });
  }

  get running(): ModelRun[] {
    return this.runs.filter(({ status }) => status === 'running');
  }

  /**
   * Whether the specification says what becomes of the runs: not if one of the players had an event while the other one
   * had a run, which may or may not count once they are the same.
   */
  isClear(from: number, into: number): boolean {
    const is_clear = (of: number, other: number) =>
      this.running.every(
        ({ player, started_ms }) => player !== of || started_ms > this.#player(other).last_event_ms,
      );
    return is_clear(from, into) && is_clear(into, from);
  }

  /** Whether the run waits for an event that has not come. */
  isWaiting(run: ModelRun): boolean {
    return this.#node(run).type === 'wait_for_event' && run.woken === undefined;
  }

  survivor(player: number): number {
    const into = this.players[player]?.into;
    return into === undefined ? player : this.survivor(into);
  }

  /** When the next run goes on; undefined: none does by itself. */
  nextDue(): number | undefined {
    const due = this.running.map(({ due_ms }) => due_ms).filter((due_ms) => due_ms > this.now_ms);
    return due.length === 0 ? undefined : Math.min(...due);
  }

  /** Everything that is due happens. */
  settle(): void {
    if (this.is_held) return;
    const due = () => this.running.filter(({ due_ms }) => due_ms <= this.now_ms);
    for (let runs = due(); runs.length > 0; runs = due()) for (const run of runs) this.#walk(run);
  }

  force(player: number): ModelRun {
    return this.#begin(this.survivor(player), `forced ${++this.#events}`, true);
  }

  event(name: JourneyEvent, given: number): void {
    const player = this.survivor(given);
    const of_player = this.running.filter((run) => run.player === player);
    if (name === 'custom_answer' || name === 'custom_leave') this.#player(player).last_event_ms = this.now_ms;
    if (name === 'self_exclusion_set') this.#player(player).is_excluded = true;
    if (name === 'custom_leave' && this.rules.exits) for (const run of of_player) this.#exit(run);
    if (name === 'custom_answer') {
      for (const run of of_player) {
        if (run.woken === 'event') run.missed += 1;
        if (this.#node(run).type !== 'wait_for_event' || run.woken !== undefined) continue;
        run.woken = 'event';
        run.due_ms = this.now_ms;
      }
    }
    if (name === this.rules.trigger && this.status === 'active') this.#enter(player);
  }

  pause(is_held: boolean): void {
    this.status = 'paused';
    this.is_held = is_held;
  }

  activate(resume: 'run' | 'skip'): void {
    if (this.saved !== this.versions.at(-1)) this.versions.push(this.saved);
    const was_held = this.is_held;
    this.status = 'active';
    this.is_held = false;
    if (!was_held || resume === 'run') return;
    for (const run of this.running) if (run.due_ms < this.now_ms) this.#cancel(run, 'resume');
  }

  save(shape: number): void {
    this.saved = shape;
    if (this.status === 'active') this.versions.push(shape);
  }

  /** The last attempt of a webhook has this outcome. */
  answer(run: ModelRun, node_id: string, answer: Answer): void {
    run.calls.set(node_id, answer);
    if (run.status !== 'running' || run.node !== node_id) return;
    run.woken = answer;
    run.due_ms = this.now_ms;
  }

  cancel(run: ModelRun, by: string): void {
    if (run.status === 'running') this.#cancel(run, by);
  }

  /** Of these pairs of nodes, which have the same type, those that the versions have. */
  pairsOf(from: number, to: number, pairs: readonly (readonly [string, string])[]): Map<string, string> {
    const has = (version: number, id: string) => this.#nodes(version).some((node) => node.id === id);
    return new Map(pairs.filter(([node, target]) => has(from, node) && has(to, target)));
  }

  migrate(from: number, to: number, how: Migration): void {
    for (const run of this.running.filter(({ version }) => version === from)) {
      const { type } = this.#node(run);
      const target_id = how.map.get(run.node) ?? run.node;
      const target = this.#nodes(to).find((node) => node.id === target_id && node.type === type);
      if (target !== undefined) {
        run.version = to;
        run.node = target.id;
        const rest_ms = type === 'call_webhook' ? undefined : durationOf(target);
        if (
          !how.recompute_waits ||
          run.woken !== undefined ||
          run.entered_ms === undefined ||
          rest_ms === undefined
        )
          continue;
        run.due_ms = Math.max(run.entered_ms + rest_ms, this.now_ms);
      } else if (how.unmapped === 'exit') {
        this.#exit(run);
        cancelAll(run.calls, 'pending');
      }
    }
  }

  merge(from: number, into: number): void {
    const [gone, survivor] = [this.#player(from), this.#player(into)];
    gone.into = into;
    survivor.is_excluded ||= gone.is_excluded;
    for (const one of gone.marks) survivor.marks.add(one);
    const single = this.running.filter((run) => run.player === from || run.player === into);
    const twins = single.filter((run) => this.#isSingle(run)).toSorted((a, b) => a.started_ms - b.started_ms);
    for (const younger of twins.slice(1)) this.#cancel(younger, 'merged');
    for (const run of this.runs) {
      if (run.player !== from) continue;
      if (this.runs.some(({ player, key }) => player === into && key === run.key)) run.key += ' merged';
      run.player = into;
      run.is_moved ||= run.woken !== undefined;
    }
  }

  #enter(player: number): void {
    const key = this.rules.re_entry === 'once' ? 'once' : `event ${++this.#events}`;
    const of_player = this.runs.filter((run) => run.player === player);
    if (of_player.some((run) => run.key === key)) return;
    if (this.rules.re_entry !== 'always' && of_player.some((run) => this.#isSingle(run))) return;
    this.#begin(player, key, false);
  }

  #begin(player: number, key: string, is_forced: boolean): ModelRun {
    const version = this.versions.length;
    const run: ModelRun = {
      run_id: undefined,
      player,
      version,
      node: this.#nodes(version)[0]?.id ?? '',
      status: 'running',
      outcome: null,
      cancelled_by: null,
      entered_ms: undefined,
      due_ms: this.now_ms,
      woken: undefined,
      is_forced,
      missed: 0,
      is_moved: false,
      key,
      started_ms: this.now_ms,
      steps: [],
      sends: new Map(),
      calls: new Map(),
    };
    this.runs.push(run);
    return run;
  }

  /** Goes on to the next rest, or to the end. */
  #walk(run: ModelRun): void {
    let node: PlainNode | undefined = this.#node(run);
    if (run.entered_ms !== undefined) node = this.#wake(run, node);
    while (node !== undefined) {
      run.node = node.id;
      const is_barred = node.type === 'call_webhook' && this.#player(run.player).is_excluded;
      const rest_ms = is_barred ? undefined : durationOf(node);
      if (rest_ms !== undefined) {
        const answer = node.type === 'call_webhook' ? this.#call(run, node.id) : this.#missed(run, node);
        run.entered_ms = this.now_ms;
        run.due_ms = this.now_ms + rest_ms;
        run.woken = answer;
        if (answer !== undefined) run.due_ms = this.now_ms;
        return;
      }
      node = this.#pass(run, node);
    }
  }

  /** Where a run goes on whose rest is over. */
  #wake(run: ModelRun, node: PlainNode): PlainNode | undefined {
    const { woken } = run;
    switch (node.type) {
      case 'wait':
        return this.#leave(run, node, 'elapsed', node.next);
      case 'wait_for_event':
        return woken === 'event'
          ? this.#leave(run, node, 'event', node.next)
          : this.#leave(run, node, 'timeout', node.timeout_next);
      case 'call_webhook':
        if (woken === 'delivered') return this.#leave(run, node, 'delivered', node.next);
        return this.#leave(run, node, 'exhausted', node.next, woken === 'failed' ? GONE : 'OUTCOME_UNKNOWN');
      case 'send_message':
      case 'update_player':
      case 'end':
        return node;
    }
  }

  /** A node at which no run rests. */
  #pass(run: ModelRun, node: PlainNode): PlainNode | undefined {
    const player = this.#player(run.player);
    switch (node.type) {
      case 'send_message':
        if (!run.sends.has(node.id)) run.sends.set(node.id, 'queued');
        return this.#leave(run, node, 'queued', node.next);
      case 'update_player':
        if (player.is_excluded) return this.#leave(run, node, 'skipped', node.next);
        player.marks.add(node.mark);
        return this.#leave(run, node, 'updated', node.next);
      case 'call_webhook':
        if (player.is_excluded) return this.#leave(run, node, 'skipped', node.next);
        this.#call(run, node.id);
        return this.#leave(run, node, 'queued', node.next);
      case 'wait':
      case 'wait_for_event':
      case 'end':
        run.steps.push({ node_id: node.id, status: 'completed', outcome: 'ended', next_node_id: null });
        run.status = 'completed';
        run.outcome = 'ended';
        return undefined;
    }
  }

  /** What came after the event that has woken the run counts for the next wait, if it comes to one before another rest. */
  #missed(run: ModelRun, { type }: PlainNode): 'event' | undefined {
    const is_answered = type === 'wait_for_event' && run.missed > 0;
    run.missed = is_answered ? run.missed - 1 : 0;
    return is_answered ? 'event' : undefined;
  }

  /** A run that comes to a webhook again does not call it again; returns the answer that there is already. */
  #call(run: ModelRun, node_id: string): Answer | undefined {
    const call = run.calls.get(node_id);
    if (call === undefined) run.calls.set(node_id, 'pending');
    return call === 'delivered' || call === 'failed' ? call : undefined;
  }

  #leave(
    run: ModelRun,
    { id }: PlainNode,
    outcome: string,
    next: string,
    error_code = outcome === 'skipped' ? 'SKIPPED_SELF_EXCLUDED' : undefined,
  ): PlainNode | undefined {
    const status = outcome === 'skipped' ? 'skipped' : outcome === 'exhausted' ? 'failed' : 'completed';
    const failure = error_code === undefined ? {} : { error_code };
    run.steps.push({ node_id: id, status, outcome, next_node_id: next, ...failure });
    return this.#nodes(run.version).find((node) => node.id === next);
  }

  /** A webhook that nobody waits for goes out all the same. */
  #exit(run: ModelRun): void {
    if (run.calls.get(run.node) === 'pending') run.calls.set(run.node, 'cancelled');
    run.status = 'completed';
    run.outcome = 'exited';
    run.steps.push({ node_id: run.node, status: 'skipped', outcome: 'exited', next_node_id: null });
    cancelAll(run.sends, 'queued');
  }

  #cancel(run: ModelRun, by: string): void {
    run.status = 'cancelled';
    run.cancelled_by = by;
    run.steps.push({ node_id: run.node, status: 'skipped', outcome: 'cancelled', next_node_id: null });
    cancelAll(run.sends, 'queued');
    cancelAll(run.calls, 'pending');
  }

  #isSingle({ status, is_forced }: ModelRun): boolean {
    return status === 'running' && !is_forced && this.rules.re_entry !== 'always';
  }

  #player(player: number): ModelPlayer {
    const found = this.players[player];
    if (found === undefined) throw new Error(`no player ${player}`);
    return found;
  }

  #nodes(version: number): readonly PlainNode[] {
    return SHAPES[this.versions[version - 1] ?? 0] ?? [];
  }

  #node({ version, node }: ModelRun): PlainNode {
    const found = this.#nodes(version).find(({ id }) => id === node);
    if (found === undefined) throw new Error(`version ${version} has no node ${node}`);
    return found;
  }
}

/** How long a run rests at the node; undefined: it does not. */
function durationOf(node: PlainNode): number | undefined {
  if (node.type === 'wait') return node.duration_ms;
  if (node.type === 'call_webhook' && node.awaits_answer) return ANSWER_MS;
  return node.type === 'wait_for_event' ? node.timeout_ms : undefined;
}

function cancelAll<T>(effects: Map<string, T | 'cancelled'>, undone: T): void {
  for (const [node, state] of effects) if (state === undone) effects.set(node, 'cancelled');
}
