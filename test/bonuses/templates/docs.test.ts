import { it } from 'vitest';
import type { z } from 'zod';
import { LICENCE_RULES } from '../../../src/tenants/licence/rules.ts';
import { tightenable } from '../../../src/tenants/licence/effective.ts';
import { BONUS_TYPES, CONFIG_SCHEMAS, type BonusType } from '../../../src/bonuses/templates/config.ts';
import { BASES_OF_TYPE } from '../../../src/bonuses/templates/wagering.ts';
import { code, expectSections, table } from '../../doc-sections.ts';

// docs/bonuses.md repeats facts of the code; this test compares them. UPDATE_GOLDEN=1 writes its generated sections.

it('docs/bonuses.md agrees with the code', () => expectSections('docs/bonuses.md', SECTIONS));

/** What a field of a config accepts, in words. */
const ACCEPTS: { [T in BonusType]: Record<keyof (typeof CONFIG_SCHEMAS)[T]['shape'], string> } = (() => {
  const amount = 'amount above 0';
  const currency = 'code of an active currency';
  const matching = {
    match_percent: 'above 0 up to 1000, at most 2 decimals',
    cap_amount: amount,
    currency,
    min_deposit: 'amount; a smaller deposit gets nothing',
  };
  return {
    deposit_match: matching,
    reload: matching,
    free_spins: {
      count: '1 to 1000',
      value_per_spin: amount,
      currency,
      eligible_games: '1 to 200 different names',
    },
    no_deposit: { amount, currency },
    cashback: {
      percent: 'above 0 up to 100, at most 2 decimals',
      window_days: '1 to 90',
      min_loss: 'amount; a smaller loss gets nothing',
      currency,
      cap_amount: amount,
      basis: '`net_loss` (stakes less payouts) or `turnover` (stakes)',
    },
    free_bet: {
      amount,
      currency,
      min_odds: 'decimal odds as a string, such as `"1.5"`',
      stake_returned: 'whether winnings include the stake; default false',
    },
  };
})();

function types(): string {
  const rows = BONUS_TYPES.flatMap((type) => {
    const shape: Record<string, z.ZodType> = CONFIG_SCHEMAS[type].shape;
    const accepts: Record<string, string> = ACCEPTS[type];
    return Object.keys(shape).map((field, i) => {
      const is_needed = !shape[field]?.safeParse(undefined).success;
      return [
        i === 0 ? code(type) : '',
        code(field),
        is_needed ? 'yes' : '',
        accepts[field] ?? '',
        i === 0 ? BASES_OF_TYPE[type].map(code).join(', ') : '',
      ];
    });
  });
  return table(['Type', 'Field', 'Required', 'Accepts', 'Wagering bases'], rows);
}

function rules(): string {
  const rows = LICENCE_RULES.map((rule) => [
    code(rule.id),
    rule.summary,
    rule.applies_to.join(', '),
    rule.effective_from ?? '',
    rule.severity,
    tightenable(rule)
      .map(({ name, direction, value }) => `${code(name)} ${value}, ${direction}`)
      .join(', '),
    `${rule.source_url === null ? rule.source : `[${rule.source}](${rule.source_url})`}; ${rule.evidence}, ${rule.checked_on}`,
  ]);
  return table(['Rule', 'Meaning', 'Checked at', 'From', 'Severity', 'Can be changed', 'Source'], rows);
}

const SECTIONS = { types, rules };
