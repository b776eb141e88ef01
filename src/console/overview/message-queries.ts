import type { ClickHouseQueries } from '../../platform/clickhouse/port.ts';
import { SCOPE } from '../../segments/sql/owner-sql.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { stepOf, within } from '../../analytics/insights/metrics/measure-queries.ts';
import { LIMITS, type Range, type StepRow, type Steps } from './money-queries.ts';

/** How many messages have come to this status, with this code; `messages` as digits. */
export interface MessageCount {
  status: string;
  error_code: string | null;
  messages: string;
}

/** The messages that were made in the range, by status and code. The time at which one was made never changes. */
export async function countMessages(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  range: Range,
): Promise<MessageCount[]> {
  return clickhouse.query<MessageCount>(
    `select last.1 as status, last.2 as error_code, toString(count()) as messages
    from (select argMax(tuple(status, error_code), revision) as last from message_sends
      where ${SCOPE} and ${within('enqueued_at')} group by send_id)
    group by status, error_code ${LIMITS}`,
    { ...project, ...range },
  );
}

/** The times of a message that a series can count. */
export type MessageTime = 'sent_at' | 'delivered_at' | 'opened_at' | 'clicked_at' | 'bounced_at';

/** Messages per step by one of their times. */
export async function messagesByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
  column: MessageTime,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('at')} as n) as step, toString(count()) as value
    from (select assumeNotNull(argMax(${column}, revision)) as at from message_sends
      where ${SCOPE} and ${column} is not null group by send_id)
    where ${within('at')}
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}

/** Messages that were skipped, per step of the time at which they were made. */
export async function skippedByStep(
  clickhouse: ClickHouseQueries,
  project: ProjectRef,
  steps: Steps,
): Promise<StepRow[]> {
  return clickhouse.query<StepRow>(
    `select toString(${stepOf('at')} as n) as step, toString(count()) as value
    from (select any(enqueued_at) as at, argMax(tuple(error_code), revision) as last from message_sends
      where ${SCOPE} and ${within('enqueued_at')} group by send_id)
    where startsWith(ifNull(last.1, ''), 'SKIPPED_')
    group by n ${LIMITS}`,
    { ...project, ...steps },
  );
}
