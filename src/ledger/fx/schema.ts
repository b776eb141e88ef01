import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas } from '../../http/field-schemas.ts';

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
});

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
      '`frankfurter`, `coingecko`, `manual`; two joined by + for a cross; `identity` for a currency in itself',
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
export const createRateBody = z.strictObject({ base: code, quote: code, rate: exactRate });
export type CreateRateBody = z.infer<typeof createRateBody>;

/** A stored rate, which holds from `ts` on until a later one of the pair. */
export const storedRate = z.object({
  base: z.string(),
  quote: z.string(),
  rate: z.string().describe('1 whole unit of base in whole units of quote, exact'),
  ts: z.iso.datetime(),
  source: z.string().describe('`frankfurter`, `coingecko` or `manual`'),
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
});
export type FetchRequest = z.infer<typeof fetchRequest>;

export const fetchReport = z.object({
  upserted: z.int().describe('Rates stored, new ones and known ones'),
  tenants: z.int().describe('Tenants for which rates were asked'),
  failures: z.array(z.object({ provider: z.string(), message: z.string() })),
});
export type FetchReport = z.infer<typeof fetchReport>;

nameSchemas({
  Currency: currencyResource,
  Rate: rateResource,
  StoredRate: storedRate,
  CreateRateBody: createRateBody,
  FetchRatesBody: fetchRequest,
  FetchRatesReport: fetchReport,
});
