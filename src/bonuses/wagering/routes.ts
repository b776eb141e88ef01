import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { ApiError, validationError } from '../../errors.ts';
import type { Postgres } from '../../platform/postgres/port.ts';
import { retryConflicts } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { countBets, type BetReport } from './count.ts';
import { selectCurrencies } from './progress-queries.ts';
import { progressBody, progressResult, type ProgressBody } from './schema.ts';

/** Issues that an answer names. */
const MAX_ISSUES = 20;

/** Wagering of bonuses (spec part 4, internal endpoints). */
export function wageringEndpoints({ postgres, clock }: Pick<Platform, 'postgres' | 'clock'>): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/internal/bonus-progress',
      summary: 'Counts bets towards the bonuses of their players; a known state changes nothing',
      audit: { none: 'processors call it for bets; progress follows from the bets and the terms' },
      access: { mode: 'internal' },
      body: progressBody,
      response: progressResult,
      errors: ['PROJECT_NOT_FOUND'],
      handle: async ({ body: { bets, ...body } }) => {
        const project = {
          tenant_id: body.tenant_id.toLowerCase(),
          project_id: body.project_id.toLowerCase(),
        };
        const reports = bets.map(reportOf);
        await requireCurrencies(postgres, project, reports);
        const now = new Date(clock.now_ms());
        return envelope(
          await retryConflicts(() =>
            postgres.asTenant(project.tenant_id, (tx) => countBets(tx, project, reports, now)),
          ),
        );
      },
    }),
  ];
}

/** Rejects with PROJECT_NOT_FOUND, and with VALIDATION_ERROR for bets in currencies that the tenant does not have. */
async function requireCurrencies(
  postgres: Postgres,
  project: ProjectRef,
  bets: readonly BetReport[],
): Promise<void> {
  const { tenant_id, project_id } = project;
  const codes = [...new Set(bets.map(({ currency }) => currency))];
  const known = await postgres.asTenant(tenant_id, (tx) => selectCurrencies(tx, project, codes));
  if (known === undefined)
    throw new ApiError('PROJECT_NOT_FOUND', `tenant ${tenant_id} has no project ${project_id}`);
  const issues = bets.flatMap(({ currency }, i) =>
    known.has(currency)
      ? []
      : [
          {
            path: `bets.${i}.currency`,
            message: `${JSON.stringify(currency)} is not in the tenant's catalogue`,
          },
        ],
  );
  if (issues.length > 0) throw validationError(issues.slice(0, MAX_ISSUES));
}

function reportOf({ occurred_at, game_category, revision, ...bet }: ProgressBody['bets'][number]): BetReport {
  const { player_id, kind, bet_id, state, stake, currency } = bet;
  return {
    player_id: player_id.toLowerCase(),
    kind,
    bet_id,
    state,
    stake,
    currency,
    game_category: game_category ?? null,
    occurred_at_ms: Date.parse(occurred_at),
    revision: BigInt(revision),
    is_of_ledger: false,
  };
}
