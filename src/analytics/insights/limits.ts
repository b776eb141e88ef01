/** The longest range of a query, in days of the reporting time zone. */
export const MAX_DAYS = 800;
/** The most intervals of a query. */
export const MAX_POINTS = 1_000;
/** The most cohorts of a retention, and the most intervals after each. */
export const MAX_COHORTS = 53;
/** The most groups of a breakdown that have rows of their own. */
export const MAX_TOP = 25;
export const MAX_SERIES = 5;
export const MIN_FUNNEL_STEPS = 2;
export const MAX_FUNNEL_STEPS = 10;
/** The most values between which a distribution is cut. */
export const MAX_CUTS = 50;
/** Templates or campaigns of bonuses that have rows of their own. */
export const MAX_BONUSES = 200;
/** Players of a page of a drill-down. */
export const MAX_PLAYERS = 1_000;
/** Players of a figure of whom the gate of messages is asked; of more, so many random ones. */
export const PROTECTION_SAMPLE = 10_000;

/** The most rows of ClickHouse that the statements of one query may read together. */
export const MAX_ROWS_READ = 60_000_000;
export const STATEMENT_LIMIT_S = 10;
/** Of a statement that no caller waits for. */
export const BACKGROUND_LIMIT_S = 120;
export const STATEMENT_LIMIT_BYTES = 1_500_000_000;
