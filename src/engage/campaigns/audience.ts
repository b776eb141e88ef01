import { isStatementTimeout } from '../../platform/postgres/retry.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { selectSample, selectSize } from './audience-queries.ts';
import { countByVerdict, type Verdicts } from './count-audience.ts';
import type { Audience } from './fan-out-queries.ts';
import type { CampaignRef, CampaignRow } from './queries.ts';

/** Members that are counted when nobody asks for all of them: the gate needs 60 to 170 ms for them. */
const SAMPLE = 10_000;
/** A sample has about as many members as it should; never more than this. */
const MAX_SAMPLE = 2 * SAMPLE;
/** The longest count of all members; the client of the console waits for 30 s. */
const EXACT_MS = 20_000;

/** Whom a campaign would reach now; not `exact`: estimated from `counted` members. */
export interface AudienceAnswer extends Verdicts {
  exact: boolean;
  counted: number;
}

/**
 * Asks the gate whom the campaign would reach now. If a segment has more than 10,000 members, only so many are asked, unless
 * `exact` is wanted. When that takes longer than 20 s, the answer is the estimate. `leaves` is the client's going away.
 */
export async function audienceOf(
  postgres: Postgres,
  ref: CampaignRef,
  { type, segment_id, channel }: CampaignRow,
  { now, exact, leaves }: { now: Date; exact: boolean; leaves: AbortSignal },
): Promise<AudienceAnswer> {
  // Events find the recipients of a triggered campaign later.
  if (type === 'triggered') return { members: 0, sendable: 0, by_code: {}, exact: true, counted: 0 };
  const audience: Audience = { ...ref, segment_id, channel };
  const [row] = await postgres.readAsTenant(ref.tenant_id, (tx) => selectSize(tx, audience));
  const members = Number(row?.members ?? 0n);
  if (members <= SAMPLE) return allOf(await countByVerdict(postgres, audience, now, { signal: leaves }));
  if (exact) {
    const settings = { statement_timeout: String(EXACT_MS) };
    try {
      return allOf(await countByVerdict(postgres, audience, now, { settings, signal: leaves }));
    } catch (error) {
      if (leaves.aborted || !isStatementTimeout(error)) throw error;
    }
  }
  const sampled = await postgres.countAsTenant(
    ref.tenant_id,
    (tx) => selectSample(tx, audience, SAMPLE / members, MAX_SAMPLE),
    undefined,
    leaves,
  );
  const sample = await countByVerdict(postgres, audience, now, { only: sampled, signal: leaves });
  return estimated(members, sample);
}

function allOf(verdicts: Verdicts): AudienceAnswer {
  return { ...verdicts, exact: true, counted: verdicts.members };
}

/** The verdicts of a sample, scaled to all members. */
function estimated(members: number, sample: Verdicts): AudienceAnswer {
  const scaled = (count: number) =>
    sample.members === 0 ? 0 : Math.round((count / sample.members) * members);
  const by_code = Object.fromEntries(
    Object.entries(sample.by_code).map(([code, count]) => [code, scaled(count)]),
  );
  return { members, sendable: scaled(sample.sendable), by_code, exact: false, counted: sample.members };
}
