/** ClickHouse's code for too little memory. */
export const OUT_OF_MEMORY = '241';

/**
 * ClickHouse's codes that say nothing about the statement: cancelled, too many statements, network errors, a table that
 * is read-only, missing or restarting, no rights, no keeper, no disk.
 */
export const OUTAGES: ReadonlySet<string> = new Set(
  '60 74 81 193 194 202 209 210 225 236 242 243 319 394 439 497 499 516 999 1000 1001 1002'.split(' '),
);
