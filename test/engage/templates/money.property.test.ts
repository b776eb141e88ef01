import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { MoneyCatalogue } from '../../../src/engage/templates/money.ts';
import { compileTemplate, RenderFailed, renderMessage } from '../../../src/engage/templates/render.ts';
import { ExactNumber, parseExact } from '../../../src/platform/exact-json.ts';
import { DEFAULT_CATALOGUE } from '../../../src/tenants/currency-catalogue.ts';
import { runs } from '../../engines/effort.ts';

const CATALOGUE: MoneyCatalogue = {
  base_currency: 'EUR',
  currencies: new Map([
    ...DEFAULT_CATALOGUE.map(({ code, kind, scale }) => [code, { kind, scale }] as const),
    // A token of the tenant's own.
    ['GOLD7', { kind: 'crypto', scale: 5 }],
  ]),
};

function rendered(
  body: string,
  scope: Record<string, unknown> = {},
  channel: 'sms' | 'email' = 'sms',
): string {
  const source = { channel, subject: null, preheader: null, body, data: {} };
  return renderMessage(compileTemplate(source), scope, CATALOGUE).body;
}

/** Groups and decimals as these locales write them; kept by hand, so that nothing of the formatter is in them. */
const MARKS = {
  en: { group: ',', decimal: '.' },
  de: { group: '.', decimal: ',' },
  'en-IN': { group: ',', decimal: '.' },
  fr: { group: '\u202f', decimal: ',' },
  sv: { group: '\u00a0', decimal: ',' },
} as const;

/** The amount in a text, in units of 10^-18, read character by character. */
function readBack(text: string, { group, decimal }: { group: string; decimal: string }): bigint {
  const numeral = /\d[^A-Za-z$€¥₴₽₩₹]*\d|\d/.exec(text)?.[0] ?? '';
  const [whole = '', fraction = ''] = numeral.replaceAll(group, '').split(decimal);
  expect(`${whole}${fraction}`).toMatch(/^\d+$/);
  const value = BigInt(whole) * 10n ** 18n + BigInt(fraction.padEnd(18, '0'));
  return /[-−]/.test(text) ? -value : value;
}

describe('the filter money', () => {
  it('writes the exact amount, in any currency, locale and form of the number', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }),
          fc.bigInt({ min: -1_100n, max: 1_100n }),
        ),
        fc.constantFrom(...CATALOGUE.currencies.keys()),
        fc.constantFrom(...(Object.keys(MARKS) as (keyof typeof MARKS)[])),
        fc.boolean(),
        (amount, currency, locale, as_number) => {
          const given = as_number ? parseExact(`[${amount}]`) : [String(amount)];
          const text = rendered('{{ given[0] | money: currency, locale }}', {
            given,
            currency,
            locale,
          });
          const { kind, scale } = CATALOGUE.currencies.get(currency) ?? { kind: 'fiat', scale: 0 };
          const without_name = text.replace(/[A-Z]{2,}[0-9]?|kr\.?|Kč|zł|lei|Ft|лв|R\$|S\//g, '');
          const units = 10n ** BigInt(18 - scale);
          expect(readBack(without_name, MARKS[locale]), text).toBe(amount * units);
          const { decimal } = MARKS[locale];
          const fraction = new RegExp(`\\${decimal}(\\d+)\\D*$`).exec(without_name)?.[1] ?? '';
          if (kind === 'fiat') expect(fraction.length, text).toBe(scale);
          else expect(fraction, text).toMatch(/^\d{2}$|^\d{2}\d*[1-9]$/);
        },
      ),
      { numRuns: runs(3_000) },
    );
  });

  it.each([
    [1_234_567, 'EUR', 'en', '€12,345.67'],
    [1_234_567, 'EUR', 'de', '12.345,67\u00a0€'],
    [-5, 'EUR', 'en', '-€0.05'],
    [1_234, 'JPY', 'en', '¥1,234'],
    [1_234, 'KWD', 'en', 'KWD\u00a01.234'],
    ['100000000000000000', 'ETH', 'en', 'ETH\u00a00.10'],
    ['123456789012345678901', 'ETH', 'de', '123,456789012345678901\u00a0ETH'],
    ['1', 'ETH', 'en', 'ETH\u00a00.000000000000000001'],
    [5_000_000, 'USDT', 'en', 'USDT\u00a05.00'],
    [12_345, 'GOLD7', 'de', '0,12345\u00a0GOLD7'],
    [1_000, null, null, '€10.00'],
    [1_000, 'GBP', null, '£10.00'],
    [0, 'EUR', 'pt_BR', '€\u00a00,00'],
    [null, 'EUR', 'en', ''],
    ['', 'EUR', 'en', ''],
  ])('%s %s in %s is %s', (amount, currency, locale, expected) => {
    expect(rendered('{{ amount | money: currency, locale }}', { amount, currency, locale })).toBe(expected);
  });

  it('takes the locale of the player, where it is one, and escapes like any value', () => {
    const body = '{{ 1250 | money }}';
    expect(rendered(body, { language: 'de' })).toBe('12,50\u00a0€');
    expect(rendered(body, { language: 'de', locale: 'en-GB' })).toBe('€12.50');
    for (const language of ['klingon!', 'xx-XX', 7, null, 'd'.repeat(50)]) {
      expect(rendered(body, { language })).toBe('€12.50');
    }
    expect(rendered("<b>{{ 1250 | money: 'USD' | append: '<' }}</b>", {}, 'email')).toBe('<b>$12.50&lt;</b>');
    expect(rendered("{% for i in (1..2) %}{{ i | money: 'JPY' }} {% endfor %}")).toBe('¥1 ¥2 ');
  });

  it.each([
    ["{{ 1 | money: 'XYZ' }}", /currency XYZ is not in the catalogue/],
    ["{{ 1 | money: 'eur' }}", /currency eur is not in the catalogue/],
    ['{{ 1 | money: secret }}', /the currency is not in the catalogue/],
    ['{{ 1 | money: 7 }}', /the currency is not in the catalogue/],
    ["{{ 1.5 | money: 'EUR' }}", /whole number in the smallest unit/],
    ['{{ secret | money }}', /whole number in the smallest unit/],
    ["{{ 1 | money: 'EUR', 'nowhere' }}", /locale must be one that is known/],
    ["{{ 1 | money: 'EUR', secret }}", /locale must be one that is known/],
  ])('fails with its reason, and no value of the player: %s', (body, reason) => {
    const secret = 'ann@example.com lives here';
    expect(() => rendered(body, { secret })).toThrow(RenderFailed);
    expect(() => rendered(body, { secret })).toThrow(reason);
    expect(() => rendered(body, { secret })).not.toThrow(/ann/);
  });
});

describe('the filter money without a currency', () => {
  const won = { amount: 60_000, currency: 'KRW', payout: '5', at: [{ amount: 3, currency: 'JPY' }, 7] };
  const scope = {
    amount: 1_000,
    currency: 'KRW',
    player: { total_won: 1_000, currency: 'KRW', custom_attributes: { balance: 1_000, currency: 'KRW' } },
    context: { trigger_payload: won, events: { wait: { amount: '100000', currency: 'BTC' } }, amount: 1_000 },
    journey: { context: { trigger_payload: won } },
    bonus: { amount: 1_250, currency: 'USD' },
  };

  it.each([
    // The currency of the object in which the amount stands.
    ['{{ journey.context.trigger_payload.amount | money }}', '₩60,000'],
    ['{{ context.trigger_payload.payout | money }}', '₩5'],
    ['{{ context.events.wait.amount | money }}', 'BTC\u00a00.001'],
    ['{{ context.events["wait"]["amount"] | money: nil, "de" }}', '0,001\u00a0BTC'],
    ['{{ bonus.amount | money }}', '$12.50'],
    ['{{ context.trigger_payload.at.first.amount | money }}', '¥3'],
    ['{% for one in context.trigger_payload.at %}{{ one.amount | money }}{% endfor %}', '¥3'],
    ['{% assign w = context.trigger_payload %}{{ w.amount | money }}', '₩60,000'],
    // A currency that is given.
    ['{{ context.trigger_payload.amount | money: "EUR" }}', '€600.00'],
    ['{{ context.trigger_payload.amount | money: bonus.currency }}', '$600.00'],
    // It stays with the amount.
    ['{% assign a = context.trigger_payload.amount %}{{ a | money }}', '₩60,000'],
    [
      '{{ context.trigger_payload.amount | times: 2 | plus: 1 | divided_by: 2.0 | round | money }}',
      '₩60,001',
    ],
    ['{{ 100 | minus: context.trigger_payload.payout | money }}', '₩95'],
    ['{{ nothing | default: context.trigger_payload.amount | money }}', '₩60,000'],
    ['{{ context.trigger_payload.amount | default: 7 | money }}', '₩60,000'],
    ['{{ context.trigger_payload.amount | at_most: 500 | money }}', '₩500'],
    // Everything else is in the base currency.
    ['{{ amount | money }}', '€10.00'],
    ['{{ player.total_won | money }}', '€10.00'],
    ['{{ player.custom_attributes.balance | money }}', '€10.00'],
    ['{% assign p = player %}{{ p.total_won | money }}', '€10.00'],
    ['{{ context.amount | money }}', '€10.00'],
    ['{{ context.trigger_payload.at.last | money }}', '€0.07'],
    ['{{ context.trigger_payload.amount | plus: bonus.amount | money }}', '€612.50'],
    ['{{ context.trigger_payload.currency | size | money }}', '€0.03'],
  ])('%s is %s', (body, expected) => {
    expect(rendered(body, scope)).toBe(expected);
  });

  it('fails where the currency is unknown, as if it were given', () => {
    const context = { amount: 5, currency: 'XYZ' };
    expect(() => rendered('{{ context.amount | money }}', { context })).toThrow(/currency XYZ is not in/);
    for (const currency of ['', null, 7, { code: 'KRW' }]) {
      expect(rendered('{{ context.amount | money }}', { context: { amount: 500, currency } })).toBe('€5.00');
    }
  });

  it('leaves a number with a currency what it is to everything else', () => {
    const values = fc.oneof(
      fc.integer({ min: -5, max: 70_000 }),
      fc.bigInt({ min: -(10n ** 20n), max: 10n ** 20n }).map(String),
      fc.bigInt({ min: 10n ** 17n, max: 10n ** 20n }).map((number) => new ExactNumber(String(number))),
      fc.constantFrom(new ExactNumber('1e20'), new ExactNumber('1.2345678901234567891')),
      fc.constantFrom('', 'seven', 1.5, null, true, [1, 2]),
    );
    const body = `{{ c.v }} {{ c.v | json }} {{ c | json }} {{ c.v | append: 'x' }} {{ c.v | size }} {{ c.v.size }}
      {{ c.v | times: 3 }} {{ 7 | modulo: 3 | plus: c.v }} {{ c.v | divided_by: 7 }} {{ c.v | divided_by: 7.0 }} {{ c.v | ceil }}
      {% assign a = c.v %}{{ a }} {{ a.size }} {{ a.toString }} {{ a | default: 'none' }} {{ a | inspect }} {{ c.list[a] }}
      {% if a == 5 %}5{% elsif a > 5 %}more{% elsif a contains '1' %}1{% elsif a %}any{% endif %}
      {% case a %}{% when 5 %}five{% when '7' %}seven{% else %}other{% endcase %} {% cycle a, 2 %}
      {% if c.list contains a %}listed{% endif %} {{ c.list | push: a | uniq | join: ',' }} {{ c.list | concat: a | json }}
      {% for i in (1..2) limit: a %}{{ i }}{% endfor %} {% for i in a %}{{ i }}{% endfor %} {{ a | date: '%F' }}
      {{ c.rows | where: 'v', a | size }} {{ c.rows | map: 'v' | uniq | size }} {{ c.rows | sum: 'v' }} {{ a | slice: 0 }}`;
    const shown = (scope: Record<string, unknown>) => {
      try {
        return rendered(body, scope);
      } catch (error) {
        return String(error);
      }
    };
    fc.assert(
      fc.property(values, (v) => {
        const rows = [{ v }, { v }];
        const list = [5, 7, '7'];
        const without = shown({ c: { v, rows, list, currencY: 'KRW' } });
        const with_currency = shown({
          c: { v, rows: rows.map((row) => ({ ...row, currency: 'KRW' })), list, currency: 'KRW' },
        });
        const named = (text: string) => text.replaceAll(/,?"?currenc[yY]"?:"KRW"/g, '');
        expect(named(with_currency)).toBe(named(without));
      }),
      { numRuns: runs(300) },
    );
  });
});
