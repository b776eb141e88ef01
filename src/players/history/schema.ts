import { z } from 'zod';
import { nameSchemas, int64 } from '../../http/field-schemas.ts';
import { NOT_COUNTED_REASONS } from '../../ledger/money/bets.ts';
import { MONEY_EVENTS } from '../../ledger/money/ledger.ts';
import { PAGE_QUERY } from '../../http/keyset-page.ts';

/** Names of events by which a timeline is narrowed. */
const MAX_EVENTS = 20;

/** `GET /v1/players/:id/timeline`. */
export const timelineQuery = z.strictObject({
  ...PAGE_QUERY,
  events: z
    .string()
    .max(4_096)
    .transform((text) => text.split(',').map((name) => name.trim()))
    .pipe(z.array(z.string().min(1)).max(MAX_EVENTS))
    .optional()
    .describe(`Names of events, at most ${MAX_EVENTS}, separated by commas; absent: all events`),
});

export const timelineEntry = z.object({
  ingestion_id: z.uuid(),
  event: z.string(),
  timestamp: z.iso.datetime(),
  properties: z.record(z.string(), z.unknown()),
});

export const depositsOfDay = z.object({ date: z.iso.date(), amount: int64 });

/** `GET /v1/players/:id/ledger` and `…/audit`. */
export const playerPageQuery = z.strictObject(PAGE_QUERY);

/** Amounts in the smallest unit of the base currency, and the rate that converted them. */
const baseMoney = {
  base_amount: int64.nullable().describe('Null: none was sent, or no rate is known yet'),
  base_payout: int64.nullable(),
  base_bonus_stake: int64.nullable(),
  base_bonus_payout: int64.nullable(),
  rate: z
    .string()
    .nullable()
    .describe('Decimal digits, as published; null: none was needed or none is known'),
  rate_ts: z.iso.datetime().nullable(),
  rate_is_inverse: z.boolean().nullable().describe('True: amounts were divided by the rate'),
};

/** A row of the ledger. Amounts are in the smallest unit of `currency`, exact to the digit. */
export const ledgerEntry = z.object({
  event: z.enum(MONEY_EVENTS),
  reference: z.string().describe('transaction_id or bet_id'),
  movement_id: z.string().nullable().describe('Of a reversal its reversal_id'),
  at: z.iso.datetime(),
  currency: z.string().nullable(),
  amount: int64.nullable(),
  payout: int64.nullable(),
  bonus_stake: int64.nullable(),
  bonus_payout: int64.nullable(),
  reason: z.string().nullable().describe('Why a balance changed'),
  ...baseMoney,
  counts: z.boolean().nullable().describe('Whether totals have it; null: it has no money of its own'),
  not_counted_reason: z
    .enum(NOT_COUNTED_REASONS)
    .nullable()
    .describe(
      'voided; twin: the same movement came with a movement_id; superseded: a later outcome, the movements or the placed stake say it; in_no_total; other_currency: than its original; no_original: it has not come yet',
    ),
  adjustments: z
    .array(z.object({ adjusted_at: z.iso.datetime(), ...baseMoney }))
    .describe('What the base amounts were before better rates came: at most 20, the newest first'),
  ingestion_id: z.uuid(),
  event_index: z.int(),
});

nameSchemas({ TimelineEntry: timelineEntry, DepositsOfDay: depositsOfDay, LedgerEntry: ledgerEntry });
