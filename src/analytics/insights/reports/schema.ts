import { z } from 'zod';
import { ignored, nameSchemas, trimmedText } from '../../../http/field-schemas.ts';
import { COMPUTED_OF_DUE, dueFields, isEnabledSchema } from '../due/schema.ts';
import { receiversSchema, shownReceiver } from '../notices/schema.ts';

/** Reports of a project that are not deleted. */
export const MAX_REPORTS = 100;
/** Times that a preview shows. */
export const PREVIEWED_TIMES = 5;

const hour = z.int().min(0).max(23).describe('By the clocks of the reporting time zone');
const schedule = z
  .discriminatedUnion('every', [
    z.strictObject({ every: z.literal('day'), hour }),
    z.strictObject({
      every: z.literal('week'),
      weekday: z.int().min(1).max(7).describe('1 is Monday'),
      hour,
    }),
    z.strictObject({
      every: z.literal('month'),
      day: z.int().min(1).max(31).describe('Of a shorter month the last day'),
      hour,
    }),
  ])
  .describe('When it is sent');
export type Schedule = z.infer<typeof schedule>;

const name = trimmedText(1, 200);
const dashboard_id = z.uuid().toLowerCase().describe('Whose tiles are sent');

/** Fields that no body sets. */
export const COMPUTED_FIELDS: ReadonlySet<string> = new Set(COMPUTED_OF_DUE);

/** `POST /v1/reports`. */
export const createReportBody = z.strictObject({
  name,
  dashboard_id,
  schedule,
  receivers: receiversSchema,
  is_enabled: isEnabledSchema.default(true),
});
/** What of a report is stored in addition to its name. */
export type ReportContent = Omit<z.infer<typeof createReportBody>, 'name'>;

/** `PATCH /v1/reports/:id`. */
export const patchReportBody = z.strictObject({
  name: name.optional(),
  dashboard_id: dashboard_id.optional(),
  schedule: schedule.optional(),
  receivers: receiversSchema.optional(),
  is_enabled: isEnabledSchema.optional(),
});

export const reportResource = z.object({
  name: z.string(),
  dashboard_id: z.uuid(),
  schedule: z.record(z.string(), z.unknown()),
  receivers: z.array(shownReceiver),
  is_enabled: z.boolean(),
  ...dueFields('Times until then are decided; null: none yet'),
});

/** `POST /v1/reports/preview`. */
export const previewReportBody = z.strictObject({
  ...ignored(createReportBody),
  name,
  dashboard_id,
  schedule,
});
export type PreviewReportBody = z.infer<typeof previewReportBody>;

export const reportPreview = z.object({
  timezone: z.string(),
  times: z.array(z.iso.datetime()).describe(`The next ${PREVIEWED_TIMES} times`),
  subject: z.string(),
  text: z.string(),
  html: z.string().describe('Pictures are data: URLs; to a message they are attached'),
});

nameSchemas({
  ReportSchedule: schedule,
  CreateReportBody: createReportBody,
  PatchReportBody: patchReportBody,
  PreviewReportBody: previewReportBody,
  Report: reportResource,
  ReportPreview: reportPreview,
});
