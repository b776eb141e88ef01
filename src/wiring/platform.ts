import type { Clock } from '../platform/clock.ts';
import type { ClickHouse } from '../platform/clickhouse/port.ts';
import type { Egress } from '../platform/egress/egress.ts';
import type { EventLog } from '../platform/event-log/port.ts';
import type { Jobs } from '../platform/jobs/port.ts';
import type { Logger } from '../platform/logger.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Postgres } from '../platform/postgres/port.ts';
import type { WorkWatch } from '../platform/postgres/work-watch.ts';
import type { RateLimiter } from '../platform/rate-limit/port.ts';

/** The engines and services that every role uses. `embedded.ts` and `distributed.ts` each build one. */
export interface Platform {
  clock: Clock;
  logger: Logger;
  metrics: Metrics;
  postgres: Postgres;
  /** Tells processors when work waits for them in Postgres. */
  workWatch: WorkWatch;
  clickhouse: ClickHouse;
  eventLog: EventLog;
  jobs: Jobs;
  rateLimiter: RateLimiter;
  /** The only way to addresses that tenants write. */
  egress: Egress;
  /** Closes in reverse order of opening; safe to call twice. */
  close(): Promise<void>;
}
