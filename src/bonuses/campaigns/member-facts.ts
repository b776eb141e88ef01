import { waitUntilInClickHouse } from '../../analytics/caught-up.ts';
import { playersToCorrect } from '../../analytics/correction-queries.ts';
import type { Platform } from '../../platform/platform.ts';
import { lossOf } from '../grants/loss.ts';
import type { IssueTerms, MemberFacts } from './terms-of-issue.ts';
import { leftOfReversed } from '../grants/deposits.ts';
import { referenceKey } from '../../ledger/fold/fold-event.ts';
import { FACTS_BATCH } from './issue.ts';
import { selectFormerIds, selectDeposits } from './member-queries.ts';

/** The parts of the platform that issuing uses. */
export type FactsDeps = Pick<Platform, 'postgres' | 'clickhouse' | 'eventLog' | 'clock'>;

const DAY_MS = 86_400_000;
/** Questions about losses at once. */
const AT_ONCE = 8;
/** How long questions about losses are asked for one step; members who are left are asked about in the next one. */
const QUESTIONS_MS = 2_000;
/** How long it is waited for ClickHouse. */
const SINK_WAIT_MS = 5_000;

/** Whether decisions need facts from events, so that fewer members are decided at once. */
export function needsFacts({ campaign, template }: Pick<IssueTerms, 'campaign' | 'template'>): boolean {
  return campaign.deposit_from !== null || template.type === 'cashback';
}

/**
 * Resolves when ClickHouse has every event that was accepted before the call: what a member is granted is decided once,
 * so a deposit or a win must not be missing. Rejects with NotCaughtUp after 5 s.
 */
export function waitForFacts(deps: FactsDeps, stop?: AbortSignal): Promise<void> {
  return waitUntilInClickHouse(deps, deps.clock.now_ms() + SINK_WAIT_MS, stop);
}

/**
 * The first members of which ClickHouse has what later events change of earlier ones; call it after {@link waitForFacts}. The
 * others wait for event-rewriter, and hold up nobody else. Deposits need no correction: Postgres has what is left of them.
 */
export async function readyMembers(
  { postgres }: FactsDeps,
  { campaign, template }: IssueTerms,
  player_ids: readonly string[],
): Promise<readonly string[]> {
  if (template.type !== 'cashback') return player_ids.slice(0, FACTS_BATCH);
  const rows = await playersToCorrect(postgres.service, campaign, player_ids);
  const waiting = new Set(rows.map(({ player_id }) => player_id));
  return player_ids.filter((player_id) => !waiting.has(player_id)).slice(0, FACTS_BATCH);
}

/**
 * What decisions need of members' events, read outside of transactions; call it if {@link needsFacts}. Members who are not
 * in the result were not asked about in time.
 */
export async function factsOf(
  deps: FactsDeps,
  terms: IssueTerms,
  player_ids: readonly string[],
  stop?: AbortSignal,
): Promise<Map<string, MemberFacts>> {
  if (terms.template.type === 'cashback') return lossesOf(deps, terms, player_ids, stop);
  return depositsOf(deps, terms, player_ids);
}

async function lossesOf(
  deps: FactsDeps,
  { campaign, template }: IssueTerms,
  player_ids: readonly string[],
  stop: AbortSignal | undefined,
): Promise<Map<string, MemberFacts>> {
  const { tenant_id, project_id } = campaign;
  const { template_id } = template;
  const facts = new Map<string, MemberFacts>();
  const until_ms = performance.now() + QUESTIONS_MS;
  for (let i = 0; i < player_ids.length && performance.now() < until_ms; i += AT_ONCE) {
    stop?.throwIfAborted();
    const some = player_ids.slice(i, i + AT_ONCE);
    const losses = await Promise.all(
      some.map((player_id) => lossOf(deps, { tenant_id, project_id }, { template_id, player_id })),
    );
    for (const [n, player_id] of some.entries()) facts.set(player_id, losses[n] ?? {});
  }
  return facts;
}

/** Deposits of one id of a player that are looked at, the latest first: those behind as many reversed ones are not found. */
const DEPOSITS_OF_ONE = 50;

/**
 * The last deposits of the 24 hours before the issue, however much later a member is decided about: what is left of them,
 * without those that were reversed to 0.
 */
async function depositsOf(
  { postgres, clickhouse, clock }: FactsDeps,
  { campaign, rates }: IssueTerms,
  player_ids: readonly string[],
): Promise<Map<string, MemberFacts>> {
  const { tenant_id, project_id } = campaign;
  const former = await selectFormerIds(postgres.service, campaign, player_ids);
  const owner = new Map(former.map(({ player_id, into_player_id }) => [player_id, into_player_id]));
  const ids = [...player_ids, ...owner.keys()];
  const { currency } = rates;
  const until_ms = campaign.issued_at?.getTime() ?? clock.now_ms();
  const window = { from_ms: until_ms - DAY_MS, until_ms, most: DEPOSITS_OF_ONE };
  const deposits = await selectDeposits(clickhouse, campaign, { player_ids: ids, currency, ...window });
  const left = await leftOfReversed(
    postgres.service,
    deposits.map(({ transaction_id: reference }) => ({ tenant_id, project_id, reference })),
  );
  const last = new Map<string, MemberFacts>(player_ids.map((player_id) => [player_id, {}]));
  // The latest of a player's ids is set last.
  for (const { player_id, amount, transaction_id } of deposits.toSorted(
    (a, b) => Number(a.at_ms) - Number(b.at_ms),
  )) {
    if (!/^\d+$/.test(amount)) continue;
    const deposit_amount = left.get(referenceKey(project_id, transaction_id)) ?? BigInt(amount);
    if (deposit_amount === 0n) continue;
    const facts = { deposit_amount, deposit_transaction_id: transaction_id };
    last.set(owner.get(player_id) ?? player_id, facts);
  }
  return last;
}
