import { z } from 'zod';
import { shownReceiver } from '../notices/schema.ts';

const written = {
  id: z.uuid(),
  tenant_id: z.uuid(),
  project_id: z.uuid(),
  created_at: z.iso.datetime(),
  updated_at: z.iso.datetime(),
  deleted_at: z.iso.datetime().nullable(),
};

const state = {
  state: z
    .enum(['waiting', 'failing', 'disabled'])
    .describe('failing: the last evaluation has failed, and is tried again; disabled: none follows'),
  error: z
    .object({ code: z.string(), message: z.string(), at: z.iso.datetime(), failures: z.int() })
    .nullable()
    .describe('Of the last evaluation; `failures`: how many in a row'),
  notices: z
    .array(
      z.object({
        id: z.uuid(),
        receiver: shownReceiver,
        status: z.enum(['pending', 'sent', 'failed']),
        attempts: z.int(),
        error: z.string().nullable(),
        created_at: z.iso.datetime(),
      }),
    )
    .describe('What was sent, the newest first'),
};

/** Whether an alert or report is evaluated. */
export const isEnabledSchema = z.boolean().describe('false: nothing is evaluated or sent');

/** The fields of an alert or report that the service sets. `decided`: what `decided_until` means. */
export function dueFields(decided: string) {
  return { ...written, ...state, decided_until: z.iso.datetime().nullable().describe(decided) };
}

/** Their names. */
export const COMPUTED_OF_DUE: readonly string[] = [
  ...Object.keys(written),
  ...Object.keys(state),
  'decided_until',
];
