import type { TopLevelToken } from 'liquidjs';
import { TimeZone } from '../../../platform/time-zone.ts';
import { unknownDirective } from './date-format.ts';
import { GrammarError } from './lexer.ts';
import { requireGrammar } from './tags.ts';

/**
 * Checks a field that is about to be saved: its grammar, and the formats and zones of its dates as far as they are written
 * in it. Throws {@link GrammarError}.
 */
export function requireLiquid(field: string, tokens: readonly TopLevelToken[]): void {
  for (const { name, texts } of requireGrammar(field, tokens)) {
    if (name !== 'date') continue;
    const [format, zone] = texts;
    const unknown = format && unknownDirective(format.text);
    if (format !== undefined && unknown !== undefined) {
      throw new GrammarError(
        format.at,
        `"${unknown}" is not a valid part of a date: see strftime, or write %% for a percent sign`,
      );
    }
    if (zone !== undefined && TimeZone.named(zone.text) === undefined) {
      throw new GrammarError(
        zone.at,
        `"${zone.text}" is not a valid time zone: write one such as "Europe/Malta"`,
      );
    }
  }
}
