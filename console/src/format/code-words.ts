import { t } from '../messages/t.ts';

/** The words of a table for a code that may be newer than the table; then the code itself. */
export function wordIn(table: Readonly<Record<string, string>>, code: string): string {
  return table[code] ?? code;
}

/** Why something was not done or has failed, by its code: in words where they are known, otherwise the code itself. */
export function wordsOf(code: string): string {
  return t.codes[code] ?? t.stepCodes[code] ?? t.bonuses.refusals[code] ?? code;
}
