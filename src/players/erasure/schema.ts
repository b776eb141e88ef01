import { z } from 'zod';
import { PAGE_QUERY } from '../../http/keyset-page.ts';
import { nameSchemas, trimmedText } from '../../http/field-schemas.ts';

export const ERASURE_STATUSES = ['requested', 'running', 'done'] as const;
export type ErasureStatus = (typeof ERASURE_STATUSES)[number];

/** `POST /v1/players/:id/erase`: first with the reason and the basis, then with the token of the answer. */
export const erasePlayerBody = z
  .strictObject({
    reason: trimmedText(3, 500).describe('Why; kept, so it must name nobody').optional(),
    basis: trimmedText(1, 200).describe('The legal basis, such as `GDPR Art. 17(1)(b)`; kept').optional(),
    confirmation_token: z
      .string()
      .max(100)
      .describe('From the first answer: it confirms and begins the erasure')
      .optional(),
  })
  .superRefine(({ reason, basis, confirmation_token }, context) => {
    if (confirmation_token !== undefined) return;
    for (const [name, value] of Object.entries({ reason, basis })) {
      if (value === undefined) context.addIssue({ code: 'custom', path: [name], message: 'is required' });
    }
  });
export type ErasePlayerBody = z.infer<typeof erasePlayerBody>;

/** `GET /v1/erasures`. */
export const listErasuresQuery = z.strictObject({
  ...PAGE_QUERY,
  status: z.enum(ERASURE_STATUSES).optional(),
  player_id: z.guid().optional(),
});

const timestamp = z.iso.datetime();

/** What was done of an erasure. */
export const erasureStep = z.object({
  step: z.string().describe('What was erased, as docs/privacy.md explains'),
  rows: z
    .int()
    .nullable()
    .describe('Rows that were changed or removed; null: the engine does not say how many'),
  done_at: timestamp,
});
export type ErasureStep = z.infer<typeof erasureStep>;

/** An erasure. */
export const erasure = z.object({
  id: z.uuid(),
  project_id: z.uuid(),
  player_id: z.uuid().describe('The pseudonymous id, under which totals and ledger stay'),
  status: z
    .enum(ERASURE_STATUSES)
    .describe('requested: not confirmed yet; done: everything but the log is erased'),
  reason: z.string(),
  basis: z.string(),
  requested_by: z.string(),
  requested_at: timestamp,
  confirmed_by: z.string().nullable(),
  confirmed_at: timestamp.nullable(),
  completed_at: timestamp.nullable(),
  steps: z.array(erasureStep),
  last_error: z.string().nullable().describe('Why it goes on later'),
  log: z
    .object({ erased: z.literal(false), kept: z.string() })
    .describe('The event log cannot be changed: its records are removed when their retention ends'),
});

/** The answer to the first call has the token. */
export const erasureAnswer = erasure.extend({
  confirmation_token: z.string().optional().describe('Send it again with the same path to begin the erasure'),
  confirm_before: timestamp.optional(),
  erases: z.array(z.string()).optional(),
  keeps: z.array(z.string()).optional(),
});

nameSchemas({ ErasePlayerBody: erasePlayerBody, Erasure: erasure, ErasureAnswer: erasureAnswer });
