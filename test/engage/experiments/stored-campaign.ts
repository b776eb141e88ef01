import { randomUUID } from 'node:crypto';
import { SeededNumbers } from '../../../src/engage/experiments/statistics/permutation.ts';
import { HELD_OUT } from '../../../src/engage/experiments/uplift-queries.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

export const DAY_MS = 86_400_000;
export const WINDOW_MS = 7 * DAY_MS;
export const BEFORE_MS = 28 * DAY_MS;
const DRAWN_MS = Date.now() - 20 * DAY_MS;

/** A player of a stored campaign, and what the events come to. */
export interface Player {
  id: string;
  arm: string;
  at_ms: number;
  y: bigint;
  x: bigint;
  converted: boolean;
  excluded: boolean;
  /** The events of both windows. */
  events: StoredEvent[];
}

/** An event with its amounts; those that its name does not have are 0. */
export interface StoredEvent {
  event: string;
  /** Else before it. */
  is_in_window: boolean;
  stake: bigint;
  payout: bigint;
  bonus_stake: bigint;
  bonus_payout: bigint;
  deposited: bigint;
  released: bigint;
}

const KINDS = [
  'bet_settled',
  'balance_credited',
  'deposit_confirmed',
  'self_exclusion_set',
  'sport_bet_settled',
  'balance_debited',
  'bonus_completed',
] as const;

/** NGR of the players: the feed's, before deductions. */
function feedNgr({ event, stake, payout, bonus_stake, bonus_payout }: StoredEvent): bigint {
  switch (event) {
    case 'bet_settled':
    case 'sport_bet_settled':
      return stake - payout - bonus_stake + bonus_payout;
    case 'balance_credited':
      return -stake;
    case 'balance_debited':
      return stake;
    default:
      return 0n;
  }
}

/** Stores players of a campaign with random events in ClickHouse; returns what they come to. */
export async function storeCampaign(
  { clickhouse }: Pick<Platform, 'clickhouse'>,
  { tenant_id, project_id }: ProjectRef,
  campaign_id: string,
  variants: readonly string[],
  many: number,
): Promise<Player[]> {
  const numbers = new SeededNumbers(many);
  const line = (row: Record<string, unknown>) => JSON.stringify({ tenant_id, project_id, ...row });
  const [sends, events]: [string[], string[]] = [[], []];
  const players = Array.from({ length: many }, (): Player => {
    const arm = numbers.below(4) === 0 ? HELD_OUT : (variants[numbers.below(variants.length)] ?? '');
    const at_ms = DRAWN_MS + numbers.below(DAY_MS);
    return { id: randomUUID(), arm, at_ms, y: 0n, x: 0n, converted: false, excluded: false, events: [] };
  });
  for (const player of players) {
    const { id: player_id, arm, at_ms } = player;
    const is_held_out = arm === HELD_OUT;
    sends.push(
      line({
        player_id,
        send_id: randomUUID(),
        campaign_id,
        variant_id: is_held_out ? variants[0] : arm,
        channel: 'email',
        status: is_held_out ? 'failed' : 'sent',
        error_code: is_held_out ? 'SKIPPED_HOLDOUT' : null,
        enqueued_at: at_ms,
        assigned_at: at_ms,
        revision: 1,
      }),
    );
    for (let n = numbers.below(8); n > 0; n--) {
      // At the very edges of both windows, too.
      const edges = [-BEFORE_MS - 1, -BEFORE_MS, -1, 0, WINDOW_MS - 1, WINDOW_MS];
      const off_ms =
        numbers.below(2) === 0 ? (edges[numbers.below(6)] ?? 0) : numbers.below(40 * DAY_MS) - 30 * DAY_MS;
      const occurred_at = at_ms + off_ms;
      const kind = KINDS[numbers.below(KINDS.length)] ?? 'bet_settled';
      const [stake, payout, bonus] = [numbers.below(1e9) + 5e15, numbers.below(1e9), numbers.below(1_000)];
      events.push(
        line({
          player_id,
          event: kind,
          occurred_at,
          received_at: occurred_at,
          ingestion_id: randomUUID(),
          event_index: 0,
          properties: {},
          stake_counted: stake,
          payout_counted: payout,
          bonus_stake_counted: bonus,
          bonus_payout_counted: 1,
          base_amount: kind === 'deposit_confirmed' ? payout : null,
          base_payout: kind === 'bonus_completed' ? bonus : null,
        }),
      );
      const is_in_window = off_ms >= 0 && off_ms < WINDOW_MS;
      const stored: StoredEvent = {
        event: kind,
        is_in_window,
        stake: BigInt(stake),
        payout: BigInt(payout),
        bonus_stake: BigInt(bonus),
        bonus_payout: 1n,
        deposited: kind === 'deposit_confirmed' ? BigInt(payout) : 0n,
        released: kind === 'bonus_completed' ? BigInt(bonus) : 0n,
      };
      if (off_ms >= -BEFORE_MS && off_ms < WINDOW_MS) player.events.push(stored);
      const ngr = feedNgr(stored);
      if (is_in_window) {
        player.y += ngr;
        player.converted ||= kind === 'deposit_confirmed';
        player.excluded ||= kind === 'self_exclusion_set';
      } else if (off_ms < 0 && off_ms >= -BEFORE_MS) player.x += ngr;
    }
  }
  await clickhouse.insertLines('message_sends', sends, randomUUID());
  // Twice, as after a repeated block.
  for (let n = 0; n < 2; n++) await clickhouse.insertLines('events', events, randomUUID());
  return players;
}
