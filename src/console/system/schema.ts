import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';

/** The processors that read the log, with their lag. */
export const consumers = z.array(
  z.object({
    name: z.string(),
    events_behind: z
      .int()
      .nullable()
      .describe('Of the whole installation, rounded up to a power of ten; null: not known now'),
  }),
);

export const ENGINES = ['postgres', 'clickhouse', 'event_log'] as const;

/** `GET /v1/system`: whether the service keeps up with what the tenant needs of it. */
export const systemResource = z.object({
  at: z.iso.datetime().describe('When this was read: up to 5 s ago'),
  engines: z.array(
    z.object({
      name: z.enum(ENGINES),
      status: z.enum(['ok', 'failed']),
      version: z.string().nullable().describe('Null: not known'),
    }),
  ),
  versions: z.object({ service: z.string(), node: z.string() }),
  time_zones: z
    .object({
      release: z.string().describe('Of the IANA database, such as `2026f`'),
      is_old: z.boolean().describe('It may be older than a year: update the service'),
    })
    .describe('The rules by which quiet hours, waits and schedules know local time'),
  consumers,
  queues: z
    .array(
      z.object({
        name: z.string(),
        items: z.int().nullable().describe('Of the tenant, counted up to 10,000; null: not known now'),
        oldest_at: z.iso.datetime().nullable().describe('Since when the oldest waits'),
      }),
    )
    .describe('Work of the tenant that waits for a part of the service'),
  jobs_given_up: z
    .array(
      z.object({
        task: z.string(),
        attempts: z.int(),
        last_error: z.string().nullable().describe('Its first line'),
        created_at: z.iso.datetime(),
        given_up_at: z.iso.datetime(),
      }),
    )
    .describe('Jobs of the tenant that are not tried again: at most 50, the last first'),
  last_reconcile: z
    .object({ ended_at: z.iso.datetime(), differences: z.int() })
    .nullable()
    .describe('The last comparison of all stores with the ledger; null: none yet'),
});

nameSchemas({ System: systemResource });
