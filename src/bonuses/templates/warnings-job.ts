import { z } from 'zod';
import type { Clock } from '../../platform/clock.ts';
import { NIL_ID } from '../../platform/ids.ts';
import type { NewJob } from '../../platform/jobs/port.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { templateViolations } from './licence-check.ts';
import { selectTemplatesAfter, setLicenceWarnings, type BonusTemplateRef } from './queries.ts';
import { termsOf } from './terms.ts';

/** Compares a tenant's templates with the licence rules that hold now, after these were changed. */
export const WARNINGS_TASK = 'bonus-template-warnings';

const PAGE = 100;
const MAX_ATTEMPTS = 25;
const payloadSchema = z.strictObject({ tenant_id: z.uuid() });

/** A job that looks at all bonus templates of the tenant. */
export function warningsJob(tenant_id: string): NewJob {
  return {
    task: WARNINGS_TASK,
    payload: { tenant_id },
    max_attempts: MAX_ATTEMPTS,
    job_key: `${WARNINGS_TASK} ${tenant_id}`,
  };
}

/**
 * The task `bonus-template-warnings`: every template shows the rules that it breaks now, enforced ones too. No template
 * is paused: a grant of one that an enforced rule forbids is refused anyway. A template whose terms change meanwhile is
 * left alone, because that change has asked the rules.
 */
export async function runWarningsJob(
  { postgres, clock }: { postgres: Postgres; clock: Clock },
  payload: unknown,
  stop: AbortSignal,
): Promise<void> {
  const { tenant_id } = payloadSchema.parse(payload);
  const first = { tenant_id, project_id: NIL_ID, template_id: NIL_ID };
  for (let after: BonusTemplateRef | undefined = first; after !== undefined;) {
    stop.throwIfAborted();
    const rows = await selectTemplatesAfter(postgres.service, after, PAGE);
    const now = new Date(clock.now_ms());
    for (const row of rows) {
      const ref = { tenant_id, project_id: row.project_id, template_id: row.template_id };
      const broken = await templateViolations(postgres.service, tenant_id, termsOf(row), now);
      const warnings = broken.map(({ rule_id, message }) => ({ rule_id, message }));
      await setLicenceWarnings(postgres.service, ref, row.version, warnings);
    }
    const last = rows.at(-1);
    after = rows.length < PAGE || last === undefined ? undefined : { ...after, ...refOf(last) };
  }
}

function refOf({ project_id, template_id }: Pick<BonusTemplateRef, 'project_id' | 'template_id'>) {
  return { project_id, template_id };
}
