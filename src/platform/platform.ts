import type { Clock } from './clock.ts';
import type { ClickHouse } from './clickhouse/port.ts';
import type { Egress } from './egress/egress.ts';
import type { EventLog } from './event-log/port.ts';
import type { Jobs } from './jobs/port.ts';
import type { Logger } from './logger.ts';
import type { Metrics } from './metrics.ts';
import type { Postgres } from './postgres/port.ts';
import type { WorkWatch } from './postgres/work-watch.ts';
import type { RateLimiter } from './rate-limit/port.ts';

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
