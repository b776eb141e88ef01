import { ApiError } from '../../errors.ts';
import type { AuditedCall } from '../../http/audit.ts';
import type { Saga } from '../../http/endpoint.ts';
import { envelopeOfText } from '../../http/envelope.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import type { BonusPlatform } from '../../adapters/platform.ts';
import type { Platforms } from '../../adapters/platforms.ts';
import type { GrantAdmission } from './admission.ts';
import { attemptCall } from './calls.ts';
import type { Conclusion } from './conclude.ts';
import type { Conclusions } from './conclusions.ts';
import { protectedError } from './eligibility.ts';
import { grantText, type GrantRow } from './grant-row.ts';
import type { Intents } from './intents.ts';
import { type GrantRequest, unavailable } from './issue.ts';
import { settledLossOf } from './loss.ts';

/** The parts of the platform that granting uses. */
export interface GrantDeps extends Pick<
  Platform,
  'postgres' | 'eventLog' | 'clickhouse' | 'clock' | 'logger' | 'metrics'
> {
  platforms: Platforms;
}

/** What the requests of a process share. */
export interface Shared {
  /** So that few of them wait for a partition that the fold is far behind in. */
  admission: GrantAdmission;
  intents: Intents;
  conclusions: Conclusions;
}

/**
 * POST /v1/bonus-grants: the intent is committed, then the platform is called once, then what it answered is
 * committed together with the answer to the caller. A process that dies in between leaves a grant that the sender takes up.
 */
export async function grantSaga(
  deps: GrantDeps & Shared & { call: AuditedCall },
  project: ProjectRef,
  request: GrantRequest,
): Promise<Saga<GrantRow, Conclusion>> {
  const { call, admission, intents, conclusions } = deps;
  const [platform, loss] = await Promise.all([
    platformOf(deps.platforms, project),
    settledLossOf(deps, project, request),
  ]);
  return {
    prepare: (key) => intents.intend({ project, request, platform, loss, call, key }),
    execute: (claimed) => attemptCall(deps, claimed, () => admission.lookAt(claimed)),
    settle: (key, claimed, conclusion) => conclusions.conclude({ claimed, conclusion, key }),
  };
}

/** The platform of the project, or the error that says that it has none. */
export async function platformOf(
  platforms: Platforms,
  project: ProjectRef,
): Promise<BonusPlatform | ApiError> {
  try {
    return await platforms.of(project);
  } catch (error) {
    if (error instanceof ApiError && error.code === 'ADAPTER_UNAVAILABLE') return error;
    throw error;
  }
}

/** The response body, or the error, that a conclusion is for the caller. */
export function answerTo(row: GrantRow, conclusion: Conclusion): string | ApiError {
  return errorOf(row, conclusion) ?? envelopeOfText(grantText(row));
}

/** The error that a conclusion is for the caller; undefined when the grant exists, or will as soon as events are folded. */
function errorOf(row: GrantRow, conclusion: Conclusion): ApiError | undefined {
  const { grant_id } = row;
  if (row.status === 'failed') {
    const code = row.status_reason ?? 'UNKNOWN';
    const said =
      conclusion.kind === 'report' ? (conclusion.report.data as { message?: string }).message : undefined;
    const message = `the platform refused the bonus: ${code}${said === undefined ? '' : `, ${said}`}`;
    return new ApiError('ADAPTER_REJECTED', message, { details: { platform_code: code, grant_id } });
  }
  if (conclusion.kind === 'barred') return protectedError(conclusion.reason, { grant_id });
  if (conclusion.kind !== 'retry' || row.status !== 'pending' || conclusion.code === 'EVENTS_BEHIND')
    return undefined;
  return unavailable(row, `${conclusion.message}; the grant is queued`);
}
