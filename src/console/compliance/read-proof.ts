import type { PlayerRef } from '../../players/player-ref.ts';
import { requirePlayer } from '../../players/profile/read.ts';
import { selectPlayer } from '../../players/profile/queries.ts';
import { exclusionJson } from './exclusion-json.ts';
import { selectExclusionsOf, type ListedExclusion } from './exclusion-queries.ts';
import { findingsOf, type Finding } from './proof.ts';
import {
  selectBlockedItems,
  selectHandedBonuses,
  selectHandedMessages,
  selectMerges,
  selectSharedAddresses,
  type HandedRow,
} from './proof-queries.ts';
import type { ExclusionProof } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

/** Rows of a kind that are read of one player: more messages than one player gets. */
const MAX_ROWS = 10_000;
/** Others with the same address whose messages are read. */
const MAX_SHARING = 1_000;

/** From a moment (included) to another (not included). */
export interface Period {
  from: Date;
  to: Date;
}

/**
 * What a player, and those merged into it, got while they were excluded or took a break: every message, also to others at
 * the same address, and every bonus, no sample. With a period: of what was decided or held back in
 * it, and what was decided before an exclusion in the period in which that began.
 * Rejects with PLAYER_NOT_FOUND.
 */
export async function readProof(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  named: PlayerRef,
  period?: Period,
): Promise<ExclusionProof> {
  const { player_id } = await requirePlayer(postgres, named);
  const ref = { ...named, player_id };
  const now = new Date(clock.now_ms());
  const read = <Row extends object>(statement: Parameters<typeof postgres.readAsTenant<Row>>[1]) =>
    postgres.readAsTenant(ref.tenant_id, statement);
  const [spans, merges, sharing, [player]] = await Promise.all([
    read((tx) => selectExclusionsOf(tx, ref)),
    read((tx) => selectMerges(tx, ref)),
    read((tx) => selectSharedAddresses(tx, ref, MAX_SHARING + 2)),
    read((tx) => selectPlayer(tx, ref)),
  ]);
  const shared = sharing.slice(0, MAX_SHARING);
  const since = new Date(Math.min(...spans.map(({ accepted_at }) => accepted_at.getTime()), now.getTime()));
  const [messages, bonuses, held_back] =
    spans.length === 0
      ? [[], [], []]
      : await Promise.all([
          read((tx) => selectHandedMessages(tx, ref, shared, since, MAX_ROWS + 1)),
          read((tx) => selectHandedBonuses(tx, ref, since, MAX_ROWS + 1)),
          read((tx) => selectBlockedItems(tx, ref, shared, MAX_ROWS + 1)),
        ]);
  const isMeant = (at: Date) => period === undefined || (at >= period.from && at < period.to);
  const findings = findingsOf(spans, [...messages, ...bonuses], held_back, merges, isMeant);
  const of = (kind: HandedRow['kind']) => {
    const ids = findings.flatMap(({ handed_over }) => handed_over).filter((row) => row.kind === kind);
    return new Set(ids.map(({ id }) => id)).size;
  };
  return {
    player_id,
    external_id: player?.external_id ?? null,
    merged_player_ids: merges.map((merge) => merge.player_id),
    as_of: now.toISOString(),
    messages: of('message'),
    bonuses: of('bonus'),
    is_complete:
      sharing.length <= MAX_SHARING &&
      [messages, bonuses, held_back].every((rows) => rows.length <= MAX_ROWS),
    exclusions: findings.map((finding) => findingJson(finding, now)),
  };
}

function findingJson({ span, ...found }: Finding<ListedExclusion>, now: Date) {
  const count = (kind: HandedRow['kind']) => found.handed_over.filter((row) => row.kind === kind).length;
  return {
    ...exclusionJson(span, now),
    messages: count('message'),
    bonuses: count('bonus'),
    handed_over: found.handed_over.map(handedJson),
    under_way: found.under_way.map(handedJson),
    blocked: found.blocked,
  };
}

type HandedJson = ExclusionProof['exclusions'][number]['handed_over'][number];

function handedJson(row: HandedRow): HandedJson {
  return {
    kind: row.kind,
    id: row.id,
    player_id: row.player_id,
    channel: row.channel as HandedJson['channel'],
    campaign_id: row.campaign_id,
    campaign_name: row.campaign_name,
    journey_id: row.journey_id,
    journey_name: row.journey_name,
    status: row.status,
    error_code: row.error_code,
    made_at: row.made_at.toISOString(),
    decided_at: row.decided_at.toISOString(),
    handed_over_at: row.handed_over_at?.toISOString() ?? null,
  };
}
