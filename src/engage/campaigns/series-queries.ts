import type { ClickHouse } from '../../platform/clickhouse/port.ts';
import { SCOPE } from '../../segments/sql/owner-sql.ts';
import type { CampaignRef } from './queries.ts';

const LIMITS = 'settings max_execution_time = 60, max_memory_usage = 4000000000';

/** What became of messages in an interval, which begins `at_ms` after the epoch; all as text. */
export interface StageBucket {
  at_ms: string;
  sent: string;
  delivered: string;
  opened: string;
  clicked: string;
}

/** What a message reaches, in this order. */
export const STAGES = ['sent', 'delivered', 'opened', 'clicked'] as const;
const TIMES = STAGES.map((stage) => `${stage}_at`).join(', ');
const OF_CAMPAIGN = `from campaign_sends final where ${SCOPE} and assumeNotNull(campaign_id) = {campaign_id:UUID}`;

/** Counts messages by the interval in which they reached each stage, without intervals in which none did. */
export async function countStagesByTime(
  clickhouse: ClickHouse,
  ref: CampaignRef,
  interval_s: number,
): Promise<StageBucket[]> {
  const counts = STAGES.map((stage, i) => `toString(countIf(stage = ${i + 1})) as ${stage}`).join(', ');
  return clickhouse.query<StageBucket>(
    `select toString(intDiv(toUnixTimestamp(assumeNotNull(at)), {interval_s:UInt32}) * {interval_s:UInt32} * 1000) as at_ms,
      ${counts}
    from (select [${TIMES}] as times ${OF_CAMPAIGN})
    array join times as at, arrayEnumerate(times) as stage
    where at is not null
    group by at_ms ${LIMITS}`,
    { ...ref, interval_s },
  );
}
