import { ApiError, validationError } from '../../../errors.ts';
import { newId } from '../../../platform/ids.ts';
import { withinTime } from '../../../platform/time-limit.ts';
import { MAX_ATTRIBUTES_BYTES } from '../../../players/profile/profile-patch.ts';
import { withSurvivor } from '../../../players/profile/read.ts';
import { amountOf } from '../../../ledger/money/ledger.ts';
import { MONEY_PROPERTIES, type MoneyProperty } from '../../../segments/language/fields.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { JourneyRef } from '../graph/queries.ts';
import { readJourney } from '../graph/read-journey.ts';
import { requireJourney } from '../graph/read.ts';
import type { Definition } from '../graph/shapes.ts';
import { advance } from '../runs/advance.ts';
import { NO_AMOUNTS, readAmounts, worthOf, type Amounts } from '../runs/amounts.ts';
import { stateOf } from '../runs/advance-batch.ts';
import { usesOf } from '../runs/definitions.ts';
import { isInHoldout } from '../runs/entry.ts';
import { answerKey, factsAbout, NO_ANSWERS, readFacts, type Answers } from '../runs/facts.ts';
import { selectRunPlayers, type RunPlayer } from '../runs/facts-queries.ts';
import { answerQuestions, type Asker } from '../runs/questions.ts';
import { versionKey, type RunningRow } from '../runs/run-row.ts';
import type { SentAmount } from '../runs/amount-queries.ts';
import type { Facts, RunContext, Step } from '../runs/shapes.ts';
import { contextOf, requireBytes } from '../runs/trigger-run.ts';
import { findScopePlayer } from '../../templates/preview.ts';
import { renderSends } from './messages.ts';
import { answerBySample, samplePlayer, sampleScope } from './sample-player.ts';
import type { SimulateBody, SimulateResult, SimulatedEvent } from './schema.ts';
import { runVirtually, type VirtualEvent, type VirtualMoney, type VirtualStart } from './virtual-run.ts';

export interface SimulateDeps extends Pick<Platform, 'postgres' | 'clickhouse' | 'clock'> {
  public_url: string;
}

/** For the questions of one rest: less than a question may take elsewhere, so that the caller hears why. */
const QUESTIONS_MS = 4_500;
/** For all questions of a simulation. */
const ALL_QUESTIONS_MS = 15_000;

/** Why the answer may differ from a real run, by node and in general. */
interface Notes {
  of_nodes: Map<string, Set<string>>;
  general: string[];
}

/** What a simulation has read before it begins. */
interface Prepared {
  run: RunningRow;
  definition: Definition;
  player: RunPlayer;
  facts: Facts;
  /** Undefined: a real player. */
  traits: Readonly<Record<string, unknown>> | undefined;
}

/**
 * What a run of the journey, as it was saved last, would do: `advance` on a virtual clock that begins now. Writes
 * nothing. Rejects with JOURNEY_NOT_FOUND, PLAYER_NOT_FOUND, VALIDATION_ERROR, JOURNEY_GRAPH_INVALID (the stored
 * definition is unreadable), SEGMENT_TOO_EXPENSIVE (a question of a branch takes too long), or TooBusy.
 */
export async function simulateJourney(
  deps: SimulateDeps,
  ref: JourneyRef,
  body: SimulateBody,
): Promise<SimulateResult> {
  const journey = await requireJourney(deps.postgres, ref);
  const definition = readJourney(journey);
  checkWebhooks(definition, body);
  const { traits, player_id } = body;
  if (traits !== undefined) requireBytes(traits, 'traits', MAX_ATTRIBUTES_BYTES);
  const context = startContext(definition, body.trigger_payload);
  const player =
    player_id === undefined ? samplePlayer(traits) : await findPlayer(deps, ref, player_id.toLowerCase());
  const start_ms = deps.clock.now_ms();
  const run = runOf(ref, journey.version ?? 1, definition, player.player_id, context, start_ms);
  const facts = await factsOf(deps, run, definition, start_ms);
  const sample = player_id === undefined ? (traits ?? {}) : undefined;
  const prepared = { run, definition, player, facts, traits: sample };
  const notes: Notes = { of_nodes: new Map(), general: notesOf(prepared) };
  const note = (node_id: string, text: string) => {
    const of_node = notes.of_nodes.get(node_id) ?? new Set();
    notes.of_nodes.set(node_id, of_node.add(text));
  };
  const move = mover(deps, prepared, note);
  const { webhooks } = body;
  const events = await judgedEvents(deps, ref, body.events, start_ms);
  const end = await runVirtually({ run, definition, player, start_ms, events, webhooks, move });
  const read =
    sample === undefined ? await findScopePlayer(deps.postgres, ref, player.player_id) : sampleScope(sample);
  const messages = await renderSends(deps, ref, end.sends, { read, is_sample: sample !== undefined }, note);
  const steps = end.steps.map((step) => shown(step, start_ms, notes.of_nodes.get(step.node_id)));
  return { steps, messages, outcome: end.outcome, notes: notes.general };
}

/** The events with their amounts in the base currency, by the rates of now. */
async function judgedEvents(
  { postgres }: SimulateDeps,
  { tenant_id, project_id }: JourneyRef,
  events: readonly SimulatedEvent[],
  now_ms: number,
): Promise<VirtualEvent[]> {
  const moneyOf = (property: MoneyProperty) =>
    events.map(({ properties }): SentAmount | undefined => {
      const [amount, currency] = [amountOf(properties[property]), properties['currency']];
      if (amount === undefined || typeof currency !== 'string') return undefined;
      const of_event = { template_id: null, event: null, reference: null, sent_ms: now_ms };
      return { tenant_id, project_id, currency, amount, ...of_event };
    });
  const names = Object.keys(MONEY_PROPERTIES) as MoneyProperty[];
  const sent = names.flatMap(moneyOf);
  const known = sent.filter((one) => one !== undefined);
  const worth = known.length === 0 ? [] : await postgres.asTenant(tenant_id, (tx) => worthOf(tx, known));
  const base = sent.map((one) => (one === undefined ? null : (worth[known.indexOf(one)] ?? null)));
  return events.map((event, i) => {
    const money = names.map((name, n) => [MONEY_PROPERTIES[name], base[n * events.length + i] ?? null]);
    return { ...event, ...(Object.fromEntries(money) as VirtualMoney) };
  });
}

function checkWebhooks({ graph }: Definition, { webhooks }: SimulateBody): void {
  const unknown = Object.keys(webhooks).find((id) => graph.nodes.get(id)?.type !== 'call_webhook');
  if (unknown === undefined) return;
  const message = 'is not a call_webhook node of the journey: give the id of one';
  throw validationError([{ path: `webhooks.${unknown}`, message }]);
}

/** The context with which a run begins. `POST trigger` stores what it got as `trigger_payload`, and its fields one by one. */
function startContext({ trigger }: Definition, payload: Record<string, unknown>): RunContext {
  if (trigger.kind === 'api') return contextOf(payload, 'trigger_payload');
  requireBytes(payload, 'trigger_payload');
  return { trigger_payload: payload };
}

/** The player, or the survivor of a merged one. Rejects with PLAYER_NOT_FOUND, also for a deleted player. */
function findPlayer({ postgres }: SimulateDeps, ref: JourneyRef, player_id: string): Promise<RunPlayer> {
  const { tenant_id, project_id } = ref;
  return withSurvivor(postgres, { tenant_id, project_id, player_id }, async (one) => {
    const [found] = await postgres.asTenant(tenant_id, (tx) => selectRunPlayers(tx, [one]));
    return found?.is_deleted === false ? found : undefined;
  });
}

function runOf(
  { tenant_id, project_id, journey_id }: JourneyRef,
  version: number,
  { graph }: Definition,
  player_id: string,
  context: RunContext,
  start_ms: number,
): RunningRow {
  const owner = { tenant_id, project_id, journey_id, version, run_id: newId(), player_id };
  const place = { node_id: graph.start_node_id, seq: 1, entered_at: null, due_at: new Date(start_ms) };
  // No event of the log is looked at.
  const log = { partition: null, log_id: null, from_offset: null };
  return { ...owner, ...place, ...log, woken_by: null, context, started_at: new Date(start_ms) };
}

/** What the run may know in addition to its player. */
async function factsOf(
  { postgres }: SimulateDeps,
  run: RunningRow,
  definition: Definition,
  now_ms: number,
): Promise<Facts> {
  const versions = new Map([[versionKey(run), { definition, uses: usesOf(definition) }]]);
  const read = await postgres.asTenant(run.tenant_id, (tx) => readFacts(tx, [run], versions, now_ms));
  return read(run, NO_ANSWERS);
}

/** What the amounts of the context come to, by the rates of now, not of the virtual clock. */
async function amountsOf(
  { postgres }: SimulateDeps,
  run: RunningRow,
  version: Asker['version'],
  start_ms: number,
): Promise<Amounts> {
  if (version.uses.amounts.length === 0) return NO_AMOUNTS;
  const versions = new Map([[versionKey(run), version]]);
  const read = (tx: Tx) => readAmounts(tx, [run], versions, start_ms);
  return (await postgres.asTenant(run.tenant_id, read)).get(run.run_id) ?? NO_AMOUNTS;
}

/** `advance` with every question answered. */
function mover(
  deps: SimulateDeps,
  { definition, facts, traits, run: { started_at } }: Prepared,
  note: (node_id: string, text: string) => void,
): VirtualStart['move'] {
  let left_ms = ALL_QUESTIONS_MS;
  const version = { definition, uses: usesOf(definition) };
  const start_ms = started_at.getTime();
  return async (run, player, now_ms) => {
    const about = { ...factsAbout(player, facts), amounts: await amountsOf(deps, run, version, start_ms) };
    const factsWith = (conditions: Answers): Facts => ({ ...about, conditions });
    const moved = advance(definition, stateOf(run, now_ms), factsWith(NO_ANSWERS), now_ms);
    if (!('needs' in moved)) return moved;
    const asker: Asker = { run, version, factsOf: factsWith };
    let answers: Answers;
    if (traits === undefined) {
      const begun_ms = performance.now();
      answers = await askAbout(deps, asker, now_ms, Math.min(QUESTIONS_MS, left_ms));
      left_ms -= performance.now() - begun_ms;
    } else answers = answerBySample(asker, traits, now_ms, note);
    const answered = advance(definition, stateOf(run, now_ms), factsWith(answers), now_ms);
    if ('needs' in answered) throw new Error(`the node ${answered.needs.node_id} asks without an end`);
    return answered;
  };
}

/** The answers for a real player: windows of time end at the virtual moment, and the data are those of now. */
async function askAbout(
  { postgres, clickhouse }: SimulateDeps,
  asker: Asker,
  now_ms: number,
  limit_ms: number,
): Promise<Answers> {
  const late = () => {
    const message = `the questions of branches take over ${QUESTIONS_MS} ms at once, or ${ALL_QUESTIONS_MS} ms together: narrow their windows or events`;
    return new ApiError('SEGMENT_TOO_EXPENSIVE', message);
  };
  const asking = answerQuestions({ postgres, clickhouse, clock: { now_ms: () => now_ms } }, asker.run, [
    asker,
  ]);
  const answers = await withinTime(Math.max(limit_ms, 0), asking, late);
  return answers.get(answerKey(asker.run)) ?? NO_ANSWERS;
}

function notesOf({ definition, run, traits }: Prepared): string[] {
  const { holdout_percent, exit_on } = definition.settings;
  const notes: string[] = [];
  if (holdout_percent > 0) {
    const is_in = traits === undefined && isInHoldout(run.journey_id, run.player_id, holdout_percent);
    const what = is_in ? 'the player is in it, so that a real run would do nothing' : 'it is not applied';
    notes.push(`the journey has a holdout of ${holdout_percent} %: ${what}`);
  }
  if (exit_on.some((rule) => 'segment_exited' in rule)) {
    notes.push('nobody leaves a segment in a simulation, so that exit_on.segment_exited ends no run');
  }
  return notes;
}

function shown(
  { entered_at_ms, completed_at_ms, next_node_id, error_code, ...step }: Step,
  start_ms: number,
  notes: ReadonlySet<string> | undefined,
): SimulateResult['steps'][number] {
  return {
    ...step,
    entered_at: new Date(entered_at_ms).toISOString(),
    completed_at: new Date(completed_at_ms).toISOString(),
    next_node_id: next_node_id ?? null,
    error_code: error_code ?? null,
    at_ms: completed_at_ms - start_ms,
    ...(notes === undefined ? {} : { note: [...notes].join('; ') }),
  };
}
