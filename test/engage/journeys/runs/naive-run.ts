import { matches } from '../../../segments/naive.ts';
import { goingOn, table, wallClock } from '../graph/wall-clock.ts';

// Interprets a graph as a caller writes it, one node after the other. It shares no code with `advance`.

/** A node as written, with every field present; see test/engage/journeys/runs/written-graphs.ts. */
export interface WrittenNode {
  id: string;
  type: string;
  next?: string;
  [key: string]: unknown;
}
export interface WrittenBranch {
  name?: string;
  next: string;
  weight?: number;
  condition?: { where: WrittenClause[] } | { segment: string };
}
export interface WrittenClause {
  property: string;
  op: string;
  value?: unknown;
}

/** The instants at which runs move are within these minutes. */
export const FIRST_MINUTE = Date.UTC(2026, 2, 20) / 60_000;
export const MINUTES = 30 * 1_440;
export const ZONES = ['UTC', 'Europe/Malta', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe'];

export interface NaiveFacts {
  barred: string | undefined;
  timezone: string;
  player: unknown;
  templates: ReadonlySet<string>;
  providers: ReadonlySet<string>;
  bonus_templates: ReadonlySet<string>;
  /** What an amount in SEK comes to; null: no rate is known. Amounts in EUR are as they are written. */
  worth: bigint | null;
  /** The answer to each segment condition, by the text of the condition. */
  segments: (segment: string) => boolean;
}
export interface NaiveRun {
  journey_id: string;
  player_id: string;
  node_id: string;
  seq: number;
  entered_at_ms: number | undefined;
  due_at_ms: number;
  context: unknown;
  woken_by: string | undefined;
}
interface Done {
  status: string;
  outcome: string;
  next?: string;
  error_code?: string;
}
type Naive = { done: Done } | { stay: string; due_at_ms: number };

/** `stopped`: the code of the error; otherwise what `advance` returns, without the nodes in its effects. */
export function naiveAdvance(
  nodes: readonly WrittenNode[],
  run: NaiveRun,
  facts: NaiveFacts,
  now_ms: number,
) {
  const steps: Record<string, unknown>[] = [];
  const effects: Record<string, unknown>[] = [];
  let { node_id, seq, entered_at_ms } = run;
  for (;;) {
    const node = nodes.find(({ id }) => id === node_id);
    if (node === undefined) return { stopped: 'JOURNEY_STEP_ERROR' };
    const is_resting = entered_at_ms !== undefined && RESTING.includes(node.type);
    const result = is_resting
      ? resting(node, run, now_ms)
      : arriving(node, run, facts, now_ms, (effect) => effects.push({ seq, node_id: node.id, ...effect }));
    if ('stay' in result) {
      const event = result.stay === 'event' ? { event: node['event'] } : {};
      const { due_at_ms } = result;
      return { steps, effects, rest: { kind: result.stay, ...event, node_id: node.id, seq, due_at_ms } };
    }
    const { status, outcome, next, error_code } = result.done;
    steps.push({
      seq,
      node_id,
      node_type: node.type,
      status,
      outcome,
      next_node_id: next,
      entered_at_ms: entered_at_ms ?? now_ms,
      completed_at_ms: now_ms,
      error_code,
    });
    if (next === undefined) {
      const is_failed = status === 'failed';
      return {
        steps,
        effects,
        rest: {
          kind: 'end',
          status: is_failed ? 'failed' : 'completed',
          node_id,
          seq,
          outcome: is_failed ? undefined : outcome,
          error_code: is_failed ? error_code : undefined,
        },
      };
    }
    node_id = next;
    seq += 1;
    entered_at_ms = undefined;
  }
}

const RESTING = ['wait', 'wait_until', 'wait_for_event', 'call_webhook'];

function resting(node: WrittenNode, run: NaiveRun, now_ms: number): Naive {
  const is_over = run.due_at_ms <= now_ms;
  const stay = (kind: string) => ({ stay: kind, due_at_ms: run.due_at_ms });
  const next = String(node.next);
  if (node.type === 'wait_for_event') {
    if (run.woken_by === 'event') return { done: { status: 'completed', outcome: 'event', next } };
    if (!is_over) return stay('event');
    return { done: { status: 'completed', outcome: 'timeout', next: String(node['timeout_next']) } };
  }
  if (node.type === 'call_webhook') {
    if (run.woken_by === 'delivered') return { done: { status: 'completed', outcome: 'delivered', next } };
    if (run.woken_by === 'exhausted') return { done: failing(node, 'exhausted', 'HTTP_500') };
    return is_over ? { done: failing(node, 'exhausted', 'OUTCOME_UNKNOWN') } : stay('delivery');
  }
  return is_over ? { done: { status: 'completed', outcome: 'elapsed', next } } : stay('timer');
}

function failing(node: WrittenNode, outcome: string, error_code: string): Done {
  const next = node['on_error'] === 'continue' ? { next: String(node.next) } : {};
  return { status: 'failed', outcome, error_code, ...next };
}

function arriving(
  node: WrittenNode,
  run: NaiveRun,
  facts: NaiveFacts,
  now_ms: number,
  effect: (effect: Record<string, unknown>) => void,
): Naive {
  const next = String(node.next);
  const completed = (outcome: string, to = next) => ({ done: { status: 'completed', outcome, next: to } });
  const is_barred = ['call_webhook', 'grant_bonus', 'update_player'].includes(node.type) && facts.barred;
  if (is_barred) return { done: { status: 'skipped', outcome: 'skipped', next, error_code: is_barred } };
  switch (node.type) {
    case 'end':
      return { done: { status: 'completed', outcome: 'ended' } };
    case 'wait':
      if (node['duration_ms'] === 0) return completed('elapsed');
      return { stay: 'timer', due_at_ms: now_ms + Number(node['duration_ms']) };
    case 'wait_until':
      return arrivingAtWaitUntil(node, run, facts, now_ms);
    case 'wait_for_event':
      return { stay: 'event', due_at_ms: now_ms + Number(node['timeout_ms']) };
    case 'branch': {
      const branches = node['branches'] as WrittenBranch[];
      let taken = -1;
      for (const [index, { condition }] of branches.entries()) {
        const holds =
          condition !== undefined &&
          ('segment' in condition
            ? facts.segments(condition.segment)
            : whereHolds(condition.where, run.context, facts, now_ms));
        if (holds === 'no rate' && waitedMs(node, run, now_ms) < DAY_MS)
          return lookingAgain(node, run, now_ms);
        if (holds === true) {
          taken = index;
          break;
        }
      }
      const chosen = branches[taken];
      if (chosen === undefined) return completed('else', String(node['else_next']));
      return completed(`branch:${chosen.name ?? taken}`, chosen.next);
    }
    case 'split': {
      const branches = node['branches'] as WrittenBranch[];
      const lots = branches.flatMap((one, index) =>
        Array.from({ length: one.weight ?? 0 }, () => ({ one, index })),
      );
      const drawn = lots[lot(`${run.journey_id}:${node.id}:${run.player_id}`, lots.length)];
      return completed(`branch:${drawn?.one.name ?? drawn?.index}`, drawn?.one.next);
    }
    case 'send_message':
      if (!facts.templates.has(String(node['template_id'])))
        return { done: failing(node, 'failed', 'TEMPLATE_MISSING') };
      if (!facts.providers.has(String(node['provider_id'])))
        return { done: failing(node, 'failed', 'PROVIDER_MISSING') };
      effect({ kind: 'send' });
      return completed('queued');
    case 'update_player':
      effect({ kind: 'update_player' });
      return completed('updated');
    case 'grant_bonus': {
      if (!facts.bonus_templates.has(String(node['template_id'])))
        return { done: failing(node, 'failed', 'BONUS_TEMPLATE_NOT_ACTIVE') };
      const written = node['deposit_amount'];
      const sent = typeof written === 'string' ? reference(written, run, facts) : written;
      if (written !== undefined && !/^[1-9][0-9]*$/.test(String(sent)))
        return { done: failing(node, 'failed', 'BONUS_DEPOSIT_AMOUNT_REQUIRED') };
      const money = written === 'context.trigger_payload.amount' ? moneyIn(run.context, facts) : undefined;
      if (money === null) {
        if (waitedMs(node, run, now_ms) < DAY_MS) return lookingAgain(node, run, now_ms);
        return { done: failing(node, 'failed', 'FX_RATE_NOT_FOUND') };
      }
      effect({
        kind: 'grant',
        deposit_amount: written === undefined ? undefined : (money ?? BigInt(String(sent))),
      });
      return completed('granted');
    }
    case 'call_webhook': {
      effect({ kind: 'delivery' });
      if (node['wait_for_response'] === false) return completed('queued');
      const { max_attempts, backoff_ms } = node['retry'] as { max_attempts: number; backoff_ms: number };
      let last_ms = Number(node['timeout_ms']);
      let pause_ms = backoff_ms;
      for (let attempt = 2; attempt <= max_attempts; attempt++) {
        const longest_ms = (pause_ms * 12) / 10;
        last_ms += (longest_ms > 3_600_000 ? longest_ms : 3_600_000) + Number(node['timeout_ms']);
        pause_ms = pause_ms * 4 > 86_400_000 ? 86_400_000 : pause_ms * 4;
      }
      return { stay: 'delivery', due_at_ms: now_ms + last_ms + 600_000 };
    }
    default:
      throw new Error(`no such node: ${node.type}`);
  }
}

function arrivingAtWaitUntil(node: WrittenNode, run: NaiveRun, facts: NaiveFacts, now_ms: number): Naive {
  const next = String(node.next);
  const elapsed = { done: { status: 'completed', outcome: 'elapsed', next } };
  const at = node['at'] as string | undefined;
  if (at !== undefined) {
    const named_ms = momentNamed(reference(at, run, facts), facts.timezone);
    if (Number.isNaN(named_ms)) return { done: failing(node, 'failed', 'WAIT_UNTIL_UNREADABLE') };
    const at_ms = named_ms === undefined ? 0 : named_ms + Number(node['offset_ms'] ?? 0);
    if (at_ms > now_ms) return { stay: 'timer', due_at_ms: at_ms };
    if (at_ms === now_ms || node['past'] === 'continue') return elapsed;
    return { done: { status: 'skipped', outcome: 'exited' } };
  }
  const due_at_ms = nextLocal(node, facts.timezone, now_ms);
  return due_at_ms === now_ms ? elapsed : { stay: 'timer', due_at_ms };
}

const DAY_NAMES = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'];
const shown = new Map<string, number[]>();
const answers = new Map<string, number[]>();

/** NaN: the value names no moment; undefined: there is no value. */
function momentNamed(value: unknown, of_player: string): number | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value === 'number') return value >= 1e11 ? value : value >= 1e8 ? value * 1_000 : Number.NaN;
  if (typeof value !== 'string') return Number.NaN;
  if (/^\d{4}-\d\d-\d\d(T.*(Z|[+-]\d\d:\d\d))?$/.test(value)) return Date.parse(value);
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d$/.test(value)) return Number.NaN;
  const wanted = Date.parse(`${value.replace(' ', 'T')}Z`) / 60_000;
  const minute = clockOf(ZONES.includes(of_player) ? of_player : 'UTC').findIndex((now) => now >= wanted);
  return (FIRST_MINUTE + minute) * 60_000;
}

function clockOf(zone: string): number[] {
  const clock = shown.get(zone) ?? table(wallClock(zone), FIRST_MINUTE, MINUTES);
  shown.set(zone, clock);
  return clock;
}

function nextLocal(node: WrittenNode, of_player: string, now_ms: number): number {
  const wanted = node['timezone'] === 'player' ? of_player : String(node['timezone']);
  const zone = ZONES.includes(wanted) ? wanted : ZONES.includes(of_player) ? of_player : 'UTC';
  const { local_time, window, days } = node as {
    local_time?: string;
    window?: { from: string; to: string };
    days?: string[];
  };
  const key = JSON.stringify([zone, local_time, window, days]);
  let next = answers.get(key);
  if (next === undefined) {
    const clock = clockOf(zone);
    const minute = (text = '') => Number(text.split(':')[0]) * 60 + Number(text.split(':')[1]);
    const rest = { timezone: zone, days: (days ?? []).map((day) => DAY_NAMES.indexOf(day) + 1) };
    next = goingOn(
      clock,
      window === undefined
        ? { until: 'time', minute: minute(local_time), ...rest }
        : { until: 'window', from_minute: minute(window.from), to_minute: minute(window.to), ...rest },
    );
    answers.set(key, next);
  }
  const found = next[Math.floor(now_ms / 60_000) - FIRST_MINUTE];
  if (found === undefined || Number.isNaN(found)) throw new Error('beyond the minutes of the oracle');
  return Math.max((found + FIRST_MINUTE) * 60_000, now_ms);
}

function lookUp(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const is_object = typeof value === 'object' && value !== null && !Array.isArray(value);
  const found = is_object ? Object.entries(value).find(([name]) => name === key) : undefined;
  return found === undefined ? undefined : lookUp(found[1], rest);
}

function reference(written: string, run: NaiveRun, facts: NaiveFacts): unknown {
  const [root, ...path] = written.split('.');
  return lookUp(root === 'context' ? run.context : facts.player, path);
}

const DAY_MS = 86_400_000;

/** What the payload's amount comes to; undefined: it is no money. */
function moneyIn(context: unknown, { worth }: NaiveFacts): bigint | null | undefined {
  const { amount, currency } = (lookUp(context, ['trigger_payload']) ?? {}) as {
    amount?: unknown;
    currency?: string;
  };
  if (currency === undefined || !/^[0-9]+$/.test(String(amount))) return undefined;
  return currency === 'EUR' ? BigInt(String(amount)) : worth;
}

function whereHolds(
  where: readonly WrittenClause[],
  context: unknown,
  facts: NaiveFacts,
  now_ms: number,
): boolean | 'no rate' {
  const money = moneyIn(context, facts);
  const isMoney = ({ property }: WrittenClause) =>
    property === 'trigger_payload.amount' && money !== undefined;
  const converted =
    money === undefined || money === null ? context : { trigger_payload: { amount: Number(money) } };
  const others = where.filter((clause) => !(isMoney(clause) && money === null));
  if (!others.every((clause) => clauseHolds(clause, isMoney(clause) ? converted : context, now_ms)))
    return false;
  return others.length === where.length ? true : 'no rate';
}

function waitedMs(node: WrittenNode, run: NaiveRun, now_ms: number): number {
  return run.node_id === node.id ? now_ms - (run.entered_at_ms ?? now_ms) : 0;
}

function lookingAgain(node: WrittenNode, run: NaiveRun, now_ms: number): Naive {
  const waited_ms = waitedMs(node, run, now_ms);
  const quarter_ms = Math.floor(waited_ms / 4);
  const pause_ms = quarter_ms < 2_000 ? 2_000 : quarter_ms > 300_000 ? 300_000 : quarter_ms;
  const end_ms = now_ms - waited_ms + DAY_MS;
  return { stay: 'rate', due_at_ms: now_ms + pause_ms < end_ms ? now_ms + pause_ms : end_ms };
}

function clauseHolds({ property, op, value }: WrittenClause, context: unknown, now_ms: number): boolean {
  const stored = (lookUp(context, property.split('.')) ?? null) as string | number | null;
  const player = {
    player_id: '',
    traits: {},
    custom_attributes: { stored },
    events: [],
    messages: [],
    segment_ids: new Set<string>(),
  };
  return matches({ type: 'trait', field: 'custom_attributes.stored', op, value }, player, now_ms);
}

/** FNV-1a and the end of MurmurHash3, in whole numbers of any size. */
function lot(text: string, lots: number): number {
  const word = 2n ** 32n;
  let h = 2_166_136_261n;
  for (const byte of new TextEncoder().encode(text)) h = ((h ^ BigInt(byte)) * 16_777_619n) % word;
  h = ((h ^ (h >> 16n)) * 0x85ebca6bn) % word;
  h = ((h ^ (h >> 13n)) * 0xc2b2ae35n) % word;
  h ^= h >> 16n;
  return Number((h * BigInt(lots)) / word);
}
