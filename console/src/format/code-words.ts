import { t } from '../messages/t.ts';

/** Why something was not done or has failed, by its code: in words where they are known, otherwise the code itself. */
export function wordsOf(code: string): string {
  return t.codes[code] ?? t.stepCodes[code] ?? t.bonuses.refusals[code] ?? code;
}
