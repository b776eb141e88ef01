import { withinTime } from '../../../platform/time-limit.ts';
import { resolvePlayers } from '../../../segments/dirty-player-queries.ts';
import { matchPlayers } from '../../../segments/evaluation-queries.ts';
import {
  askedSegment,
  conditionsOf,
  isGroup,
  type Condition,
  type DefinitionNode,
} from '../../../segments/language/conditions.ts';
import { ATTRIBUTE_PREFIX } from '../../../segments/language/fields.ts';
import { selectMemberships } from '../../../segments/membership-queries.ts';
import type { ProjectRef } from '../../../tenants/project-ref.ts';
import type { Definition } from '../graph/shapes.ts';
import { matches } from '../graph/where.ts';
import { advance } from './advance.ts';
import { stateOf, type AskingRun } from './advance-batch.ts';
import { answerKey, type Answers } from './facts.ts';
import { Losses, type LossDeps, type LossQuestion } from './losses.ts';
import type { News } from './news.ts';
import type { Advanced } from './shapes.ts';
import { conditionKey } from './turn.ts';
import { exactJson } from '../../../platform/exact-json.ts';

/**
 * With the event log, losses are asked about once ClickHouse has all bets that were accepted before. With `news`, conditions are
 * asked about once they include the event that started or woke the run.
 */
export type QuestionDeps = LossDeps & { news?: News };

/** The longest question to ClickHouse. */
const QUESTION_MS = 5_000;
/** A path through a graph has at most so many branches. */
const MAX_ROUNDS = 50;

/** A run of which a branch asks something. */
export type Asker = Omit<AskingRun, 'timer'>;

/** A run that is being asked about, and the answers that it has. */
interface Asked extends Asker {
  answers: Map<string, boolean | bigint>;
}

/** A run that stands before a branch, and what the steps before it set of its player. */
interface Asking extends Asked {
  /** Under which the answer is expected. */
  key: string;
  set: Readonly<Record<string, unknown>>;
}

/**
 * Answers the questions of runs of one project, outside of any transaction: each run is walked to its next rest, and
 * what it asks about on its way is asked for all runs at once, one question per distinct condition. Returns the answers
 * by `answerKey`. Losses are asked about for a few seconds; a run that lacks an answer for that reason asks again at once.
 * A run that is not in the result is to wait: ClickHouse does not have the bets of its player, or its condition would not
 * include the event that started or woke it. Rejects when a question fails
 * or takes over five seconds.
 */
export async function answerQuestions(
  deps: QuestionDeps,
  project: ProjectRef,
  asking: readonly Asker[],
): Promise<ReadonlyMap<string, Answers>> {
  const asked = asking.map((one): Asked => ({ ...one, answers: new Map() }));
  const losses = new Losses(deps, project);
  const behind = new Set<string>();
  let open = asked;
  for (let round = 0; open.length > 0 && round < MAX_ROUNDS; round++) {
    const now_ms = deps.clock.now_ms();
    const lost: LossQuestion<Asked>[] = [];
    const questions = new Map<string, { condition: DefinitionNode; runs: Asking[] }>();
    for (const one of open) {
      const question = questionOf(one, now_ms);
      if (question === undefined) continue;
      if (question.kind === 'loss') {
        lost.push({ ...question, asker: one });
        continue;
      }
      const { key, condition, set } = question;
      // Branches of several nodes and journeys may ask the same.
      const text = exactJson(condition);
      const same = questions.get(text);
      if (same === undefined) questions.set(text, { condition, runs: [{ ...one, key, set }] });
      else same.runs.push({ ...one, key, set });
    }
    const late = await withoutNews(deps, project, [...questions.values()]);
    for (const { run } of late) behind.add(run.run_id);
    const answered: Asking[] = [];
    for (const { condition, runs } of questions.values()) {
      const ready = runs.filter((one) => !late.has(one));
      if (ready.length === 0) continue;
      const matching = await matchingRuns(deps, project, condition, ready, now_ms);
      for (const one of ready) one.answers.set(one.key, matching(one));
      answered.push(...ready);
    }
    open = [...(await losses.answer(lost)), ...answered];
  }
  const ready = asked.filter(({ run }) => !losses.isBehind(run) && !behind.has(run.run_id));
  return new Map(ready.map(({ run, answers }) => [answerKey(run), answers]));
}

/**
 * The runs whose conditions would not include the event that started or woke them. Custom attributes are as Postgres has
 * them, so a condition on these alone waits for nothing.
 */
async function withoutNews(
  { news }: QuestionDeps,
  project: ProjectRef,
  questions: readonly { condition: DefinitionNode; runs: readonly Asking[] }[],
): Promise<ReadonlySet<Asking>> {
  if (news === undefined) return new Set();
  const waiting = questions.flatMap(({ condition, runs }) => {
    const leaves = [...conditionsOf(condition)];
    if (leaves.every(isOfPostgres)) return [];
    const segment_ids = leaves.flatMap((leaf) => askedSegment(leaf)?.segment_id ?? []);
    return runs.map((one) => ({ ...one, segment_ids, asked: one }));
  });
  const late = await news.behind(project, waiting);
  return new Set(waiting.flatMap((one) => (late.has(one) ? [one.asked] : [])));
}

/** What a run asks: the condition of a branch, or what the player has lost, for a cashback. */
type Question =
  | {
      kind: 'condition';
      key: string;
      node_id: string;
      condition: DefinitionNode;
      set: Readonly<Record<string, unknown>>;
    }
  | { kind: 'loss'; node_id: string; template_id: string };

/** What the run asks about now; undefined: nothing, or its step throws an error, which the transaction will find. */
export function questionOf(
  { run, version: { definition }, factsOf, answers }: Asker & { answers: Answers },
  now_ms: number,
): Question | undefined {
  try {
    const [state, facts] = [stateOf(run, now_ms), factsOf(answers)];
    const advanced = advance(definition, state, facts, now_ms);
    if (!('needs' in advanced)) return undefined;
    const { key, node_id } = advanced.needs;
    const node = definition.graph.nodes.get(node_id);
    if (node?.type === 'grant_bonus') return { kind: 'loss', node_id, template_id: node.template_id };
    const condition = conditionAt(definition, node_id, key);
    if (condition === undefined) return undefined;
    const walked = advance(endingAt(definition, node_id), state, facts, now_ms);
    return { kind: 'condition', key, node_id, condition, set: traitsSet(walked) };
  } catch {
    return undefined;
  }
}

/** The definition with an end in place of a node: a run is walked up to there. */
function endingAt(definition: Definition, node_id: string): Definition {
  const { start_node_id, nodes } = definition.graph;
  const end = { id: node_id, name: undefined, type: 'end' as const, reason: undefined };
  return { ...definition, graph: { start_node_id, nodes: new Map([...nodes, [node_id, end]]) } };
}

/** The custom attributes that a walk sets: they are not in Postgres before the walk is written. */
function traitsSet(advanced: Advanced): Record<string, unknown> {
  const effects = 'needs' in advanced ? [] : advanced.effects;
  const updates = effects.map((effect) => (effect.kind === 'update_player' ? effect.node.traits : {}));
  return Object.assign({}, ...updates) as Record<string, unknown>;
}

function conditionAt({ graph }: Definition, node_id: string, key: string): DefinitionNode | undefined {
  const node = graph.nodes.get(node_id);
  if (node?.type !== 'branch') return undefined;
  const asked = node.branches.find((_branch, index) => conditionKey(node, index) === key)?.condition;
  return asked?.kind === 'segment' ? asked.condition : undefined;
}

/** Whether the condition is about a custom attribute. */
function isOfPostgres(leaf: Condition): leaf is Extract<Condition, { type: 'trait' }> {
  return leaf.type === 'trait' && leaf.field.startsWith(ATTRIBUTE_PREFIX);
}

/** Whether a run's player satisfies a single condition. */
type Holds = (one: Asking) => boolean;

/**
 * Which of the runs' players satisfy the condition: custom attributes and memberships are as Postgres has them now, so
 * that a step sees what the one before it has set; everything else is asked of ClickHouse at once.
 */
async function matchingRuns(
  deps: QuestionDeps,
  project: ProjectRef,
  condition: DefinitionNode,
  runs: readonly Asking[],
  now_ms: number,
): Promise<Holds> {
  const leaves = [...conditionsOf(condition)];
  const player_ids = [...new Set(runs.map(({ run }) => run.player_id))];
  const holds = new Map<Condition, Holds>();
  const remote: Condition[] = [];
  for (const leaf of leaves) {
    if (isOfPostgres(leaf)) {
      const clause = { property: leaf.field.slice(ATTRIBUTE_PREFIX.length), comparison: leaf.comparison };
      holds.set(leaf, ({ factsOf, answers, set }) => {
        const stored = factsOf(answers).player['custom_attributes'] as Record<string, unknown> | undefined;
        return matches([clause], { ...stored, ...set }, now_ms);
      });
    } else if (askedSegment(leaf) === undefined) remote.push(leaf);
  }
  await Promise.all([
    askMemberships(deps, project, leaves, player_ids, holds),
    askClickHouse(deps, project, remote, player_ids, holds, now_ms),
  ]);
  return (one) => isTrue(condition, (leaf) => holds.get(leaf)?.(one) ?? false);
}

/** What a condition says, by what each of its single conditions says. */
export function isTrue(node: DefinitionNode, holds: (leaf: Condition) => boolean): boolean {
  if (!isGroup(node)) return holds(node);
  if (node.operator === 'AND') return node.children.every((child) => isTrue(child, holds));
  if (node.operator === 'OR') return node.children.some((child) => isTrue(child, holds));
  return !node.children.some((child) => isTrue(child, holds));
}

async function askMemberships(
  { postgres }: QuestionDeps,
  project: ProjectRef,
  leaves: readonly Condition[],
  player_ids: readonly string[],
  holds: Map<Condition, Holds>,
): Promise<void> {
  const asked = leaves.flatMap((leaf) => {
    const segment = askedSegment(leaf);
    return segment === undefined ? [] : [{ leaf, ...segment }];
  });
  if (asked.length === 0) return;
  const segment_ids = asked.map(({ segment_id }) => segment_id);
  const members = await selectMemberships(postgres.service, project, player_ids, segment_ids);
  for (const { leaf, segment_id, negated } of asked) {
    const of_segment = members.get(segment_id);
    holds.set(leaf, ({ run }) => (of_segment?.has(run.player_id) ?? false) !== negated);
  }
}

async function askClickHouse(
  { postgres, clickhouse }: QuestionDeps,
  { tenant_id, project_id }: ProjectRef,
  leaves: readonly Condition[],
  player_ids: readonly string[],
  holds: Map<Condition, Holds>,
  now_ms: number,
): Promise<void> {
  if (leaves.length === 0) return;
  const players = await resolvePlayers(postgres.service, { tenant_id, project_id }, player_ids);
  const definitions = leaves.map((leaf) => ({ operator: 'AND' as const, children: [leaf] }));
  const question = { tenant_id, project_id, now_ms };
  const found = await withinTime(QUESTION_MS, matchPlayers(clickhouse, question, players, definitions));
  for (const [i, leaf] of leaves.entries()) {
    const matching = found[i] ?? new Set();
    holds.set(leaf, ({ run }) => matching.has(run.player_id));
  }
}
