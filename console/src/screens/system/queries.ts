import { useRead } from '../../api/queries.ts';

/** `GET /v1/system`. */
export interface System {
  at: string;
  engines: readonly {
    name: 'postgres' | 'clickhouse' | 'event_log';
    status: 'ok' | 'failed';
    version: string | null;
  }[];
  versions: { service: string; node: string };
  consumers: readonly { name: string; events_behind: number | null }[];
  queues: readonly { name: string; items: number | null; oldest_at: string | null }[];
  jobs_given_up: readonly {
    task: string;
    attempts: number;
    last_error: string | null;
    created_at: string;
    given_up_at: string;
  }[];
  last_reconcile: { ended_at: string; differences: number } | null;
}

const REFRESH_MS = 10_000;

export function useSystem() {
  return useRead<System>('/v1/system', {}, { refresh_ms: REFRESH_MS });
}
