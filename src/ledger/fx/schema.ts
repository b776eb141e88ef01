import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas, timestampWithOffset, trimmedText } from '../../http/field-schemas.ts';

/** A provider's rate that is further ahead of the clock is invalid: clocks differ by less. */
export const MAX_AHEAD_MS = 86_400_000;

/** A currency of the tenant's catalogue (spec part 2). */
export const currencyResource = z.object({
  code: z.string(),
  kind: z.enum(['fiat', 'crypto']),
  scale: z.int().describe('Decimal places of the smallest unit'),
  symbol: z.string(),
  display_name: z.string(),
  is_active: z.boolean(),
  is_base: z.boolean(),
  rate_source: z
    .string()
    .describe(
      'Who gave the rate that holds now: `frankfurter`, `frankfurter-v2`, `coingecko`, `manual`; without a rate, the provider that has one; `none`: nobody; `identity`: the base currency',
    ),
  rate_ts: z.iso
    .datetime()
    .nullable()
    .describe('From when that rate holds; null: there is none, or the currency is the base'),
  is_rate_stale: z
    .boolean()
    .describe(
      'The rate is of a provider and old: a price of over a day, or a rate of central banks of over 6 days',
    ),
});

const kind = z.enum(['fiat', 'crypto']);
const scale = z.int().min(0).max(18).describe('Decimal places of the smallest unit');
const symbol = trimmedText(1, 16);
const display_name = trimmedText(1, 100);

/** `POST /v1/currencies`. */
export const createCurrencyBody = z.strictObject({
  code: z
    .string()
    .regex(/^[A-Z0-9]{2,16}$/, 'must be 2 to 16 capital letters and digits')
    .describe('As events name it'),
  kind,
  scale,
  symbol,
  display_name,
});
export type CreateCurrencyBody = z.infer<typeof createCurrencyBody>;

/** `PATCH /v1/currencies/:code`. */
export const patchCurrencyBody = z
  .strictObject({ kind, scale, symbol, display_name, is_active: z.boolean() })
  .partial();
export type PatchCurrencyBody = z.infer<typeof patchCurrencyBody>;

const code = z.string().min(1).max(16).describe('A code of the catalogue');

/** `GET /v1/currencies/fx`. */
export const latestRateQuery = z.strictObject({ base: code, quote: code });
export type LatestRateQuery = z.infer<typeof latestRateQuery>;

/** A rate (spec part 2). */
export const rateResource = z.object({
  base: z.string(),
  quote: z.string(),
  rate: z.number().describe('1 whole unit of base in whole units of quote; all digits are significant'),
  ts: z.iso.datetime({ offset: true }),
  source: z
    .string()
    .describe(
      '`frankfurter`, `frankfurter-v2`, `coingecko`, `manual`; two joined by + for a cross; `identity` for a currency in itself',
    ),
});

/** `GET /v1/currencies/rates`. */
export const listRatesQuery = z.strictObject({ ...PAGE_QUERY, base: code, quote: code });
export type ListRatesQuery = z.infer<typeof listRatesQuery>;

const exactRate = z
  .string({
    error: ({ input }) =>
      input === undefined ? undefined : 'must be a text of decimal digits, such as "11.25"',
  })
  .regex(/^\d{1,40}(\.\d{1,40})?$/, 'must be plain decimal digits, such as 11.25')
  .refine((digits) => /[1-9]/.test(digits), 'must be more than 0')
  .describe('1 whole unit of base in whole units of quote, exact');

/** `POST /v1/currencies/rates`. */
export const createRateBody = z.strictObject({
  base: code,
  quote: code,
  rate: exactRate,
  ts: timestampWithOffset
    .optional()
    .describe('From when the rate holds, to the millisecond, not in the future; absent: from now on'),
});
export type CreateRateBody = z.infer<typeof createRateBody>;

/** A stored rate, which holds from `ts` on until a later one of the pair. */
export const storedRate = z.object({
  base: z.string(),
  quote: z.string(),
  rate: z.string().describe('1 whole unit of base in whole units of quote, exact'),
  ts: z.iso.datetime(),
  source: z.string().describe('`frankfurter`, `frankfurter-v2`, `coingecko` or `manual`'),
});

export const RATE_KINDS = ['fiat', 'crypto'] as const;
export type RateKind = (typeof RATE_KINDS)[number];

/** Which rates to fetch: `POST /v1/internal/fx-fetch`, and the payload of the job. */
export const fetchRequest = z.strictObject({
  kinds: z
    .array(z.enum(RATE_KINDS))
    .min(1)
    .max(RATE_KINDS.length)
    .default([...RATE_KINDS]),
  tenant_id: z.guid().optional().describe('Only for this tenant; absent: for every tenant'),
  since: z.iso
    .date()
    .optional()
    .describe(
      'Fetches the fiat rates of every day from this date to today instead of the latest rates; at most 1,830 days ago',
    ),
});
export type FetchRequest = z.infer<typeof fetchRequest>;

export const fetchReport = z.object({
  upserted: z.int().describe('Rates stored, new ones and known ones'),
  tenants: z.int().describe('Tenants for which rates were asked'),
  failures: z.array(z.object({ provider: z.string(), message: z.string() })),
});
export type FetchReport = z.infer<typeof fetchReport>;

/** Rates of one call; the command sends a file in such pieces. */
export const MAX_IMPORTED_RATES = 500;

/** `POST /v1/internal/fx-rates`. A rate that is not valid gets a verdict of its own, so its fields are not checked here. */
export const importRatesBody = z.strictObject({
  tenant_id: z.guid(),
  rates: z
    .array(z.record(z.string().max(16), z.string().max(300)))
    .min(1)
    .max(MAX_IMPORTED_RATES)
    .describe('Each as the body of `POST /v1/currencies/rates`, with `ts`'),
});
export type ImportRatesBody = z.infer<typeof importRatesBody>;

/** A rate of {@link importRatesBody}. */
export const importedRate = createRateBody.required({ ts: true });

export const importReport = z.object({
  results: z
    .array(
      z.object({
        status: z
          .enum(['stored', 'known', 'refused'])
          .describe('`known`: the same rate of this pair and time is stored'),
        message: z.string().optional().describe('Why it was refused'),
      }),
    )
    .describe('One for each rate, in their order'),
});
export type ImportReport = z.infer<typeof importReport>;

nameSchemas({
  CreateCurrencyBody: createCurrencyBody,
  PatchCurrencyBody: patchCurrencyBody,
  ImportRatesBody: importRatesBody,
  ImportRatesReport: importReport,
  Currency: currencyResource,
  Rate: rateResource,
  StoredRate: storedRate,
  CreateRateBody: createRateBody,
  FetchRatesBody: fetchRequest,
  FetchRatesReport: fetchReport,
});
