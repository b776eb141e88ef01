/** Tables of ClickHouse that are exported. */
export const EXPORTED_TABLES = ['events', 'message_sends', 'players', 'segment_members'] as const;
export type ExportedTable = (typeof EXPORTED_TABLES)[number];

/**
 * How a column is written to a file: ids and texts as text, money and counts as 64-bit integers, times as UTC timestamps
 * in milliseconds. `wide` is an integer of more than 64 bits: a decimal with 38 digits, because Parquet has no such integer.
 */
type Kind = 'id' | 'owner' | 'text' | 'wide' | 'as_is';

/** A table in the files. */
export interface ExportedColumns {
  /** The column whose time a range is about; absent: the table is exported as it is now. */
  time?: string;
  /** The column with text of any length, which decides the size of a file; absent: there is none. */
  long?: string;
  columns: Readonly<Record<string, Kind>>;
  /** Columns that are not exported, with the reason. */
  kept: Readonly<Record<string, string>>;
}

const OF_COPY = 'how the copy is kept up to date';
const IN_PROPERTIES = 'made of the properties';
const CONTACT = 'an address of a person: data teams name players by their ids';

const PROJECT = { tenant_id: 'id', project_id: 'id' } as const;

/** What the files of each table have; a test compares it with the tables. */
export const EXPORTS: Readonly<Record<ExportedTable, ExportedColumns>> = {
  events: {
    time: 'occurred_at',
    long: 'properties',
    columns: {
      ...PROJECT,
      event: 'text',
      player_id: 'owner',
      occurred_at: 'as_is',
      received_at: 'as_is',
      ingestion_id: 'id',
      event_index: 'as_is',
      base_amount: 'as_is',
      base_payout: 'as_is',
      base_bonus_stake: 'as_is',
      base_bonus_payout: 'as_is',
      stake_counted: 'as_is',
      payout_counted: 'as_is',
      bonus_stake_counted: 'as_is',
      bonus_payout_counted: 'as_is',
      properties: 'as_is',
    },
    kept: {
      revision: OF_COPY,
      item: IN_PROPERTIES,
      item_group: IN_PROPERTIES,
      payment_method: IN_PROPERTIES,
    },
  },
  message_sends: {
    time: 'enqueued_at',
    columns: {
      ...PROJECT,
      player_id: 'owner',
      send_id: 'id',
      campaign_id: 'id',
      variant_id: 'id',
      channel: 'text',
      status: 'text',
      error_code: 'text',
      enqueued_at: 'as_is',
      assigned_at: 'as_is',
      is_own_hour: 'as_is',
      sent_at: 'as_is',
      delivered_at: 'as_is',
      opened_at: 'as_is',
      clicked_at: 'as_is',
      bounced_at: 'as_is',
    },
    kept: { mirrored_at: OF_COPY, revision: OF_COPY },
  },
  players: {
    long: 'custom_attributes',
    columns: {
      ...PROJECT,
      player_id: 'id',
      external_id: 'as_is',
      status: 'text',
      timezone: 'text',
      default_currency_code: 'text',
      current_tier_code: 'text',
      tier_promoted_at: 'as_is',
      kyc_status: 'text',
      kyc_level: 'as_is',
      churn_score: 'as_is',
      ltv_predicted: 'as_is',
      custom_attributes: 'as_is',
      first_deposit_at: 'as_is',
      first_seen_at: 'as_is',
      last_seen_at: 'as_is',
      total_deposited: 'as_is',
      total_withdrawn: 'as_is',
      total_wagered: 'as_is',
      total_won: 'as_is',
      total_bonus_wagered: 'as_is',
      total_bonus_won: 'as_is',
      total_credited: 'as_is',
      total_debited: 'as_is',
      ggr: 'as_is',
      ngr: 'wide',
      bet_count: 'as_is',
      session_count: 'as_is',
      created_at: 'as_is',
      deleted_at: 'as_is',
    },
    kept: { email: CONTACT, phone: CONTACT, telegram_id: CONTACT, revision: OF_COPY, is_deleted: OF_COPY },
  },
  segment_members: {
    columns: { ...PROJECT, segment_id: 'id', player_id: 'id' },
    kept: { revision: OF_COPY, is_deleted: OF_COPY },
  },
};

/** Whether rows of the table have a time, so that a range chooses them. */
export function isOfTime(table: ExportedTable): boolean {
  return EXPORTS[table].time !== undefined;
}
