import { ApiError, validationError, type Issue } from '../../errors.ts';
import { issuesOf } from '../../http/error-handler.ts';
import { selectCurrencies } from '../../ledger/fx/queries.ts';
import type { Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { configJson, parseConfig, type BonusType } from './config.ts';
import { segmentExists } from './queries.ts';
import { BASES_OF_TYPE, contributionOf, CONTRIBUTION_KEYS, type WageringBasis } from './wagering.ts';

/** The fields that depend on each other, as they are after the write. */
interface Merged {
  type: BonusType;
  wagering_basis: WageringBasis;
  wagering_requirement_multiplier: string;
  game_contribution: unknown;
}

/** The fields that the body gives; the key `config` is there when it has to be checked. */
interface Given {
  config?: unknown;
  eligible_segment_id?: string | null;
}

/**
 * Checks what the schema of the body cannot. Returns the config as it is stored, if one is given. All faults are
 * reported at once: rejects with VALIDATION_ERROR when one is outside the config, else with BONUS_CONFIG_INVALID.
 */
export async function checkFields(
  tx: Tx,
  project: ProjectRef,
  merged: Merged,
  given: Given,
): Promise<{ config?: unknown }> {
  const outside = dependentIssues(merged);
  const segment_id = given.eligible_segment_id ?? null;
  if (segment_id !== null && !(await segmentExists(tx, project, segment_id))) {
    outside.push({ path: 'eligible_segment_id', message: 'must be a segment of this project' });
  }
  const read =
    'config' in given
      ? await readConfig(tx, project, merged.type, given.config)
      : { issues: [], checked: {} };
  if (outside.length > 0) throw validationError([...outside, ...read.issues]);
  const [first] = read.issues;
  if (first !== undefined) {
    const message = `the config does not match type ${merged.type}: ${first.path} ${first.message}`;
    throw new ApiError('BONUS_CONFIG_INVALID', message, { details: { issues: read.issues } });
  }
  return read.checked;
}

function dependentIssues(merged: Merged): Issue[] {
  const { type, wagering_basis, wagering_requirement_multiplier, game_contribution } = merged;
  const issues: Issue[] = [];
  const bases = BASES_OF_TYPE[type];
  if (!bases.includes(wagering_basis)) {
    const message = `must be one of ${bases.join(', ')} for type ${type}, not ${wagering_basis}`;
    issues.push({ path: 'wagering_basis', message });
  }
  const table = game_contribution as Parameters<typeof contributionOf>[0];
  const counts = CONTRIBUTION_KEYS.some((key) => contributionOf(table, key) > 0);
  if (Number(wagering_requirement_multiplier) > 0 && !counts) {
    const message = 'must let some kind of game count, or nothing can be wagered';
    issues.push({ path: 'game_contribution', message });
  }
  return issues;
}

async function readConfig(
  tx: Tx,
  { tenant_id }: ProjectRef,
  type: BonusType,
  config: unknown,
): Promise<{ issues: Issue[]; checked: { config?: unknown } }> {
  const parsed = parseConfig(type, config);
  const currency = (config as { currency?: unknown } | null | undefined)?.currency;
  const issues = parsed.success
    ? []
    : issuesOf(parsed.error, config).map(({ path, message }) => ({
        path: path === '' ? 'config' : `config.${path}`,
        message,
      }));
  if (typeof currency === 'string' && !issues.some(({ path }) => path === 'config.currency')) {
    const catalogue = await selectCurrencies(tx, tenant_id);
    if (!catalogue.some(({ code, is_active }) => code === currency && is_active)) {
      const shown = JSON.stringify(currency.slice(0, 16));
      const message = `${shown} is not active in the tenant's currency catalogue`;
      issues.push({ path: 'config.currency', message });
    }
  }
  return { issues, checked: parsed.success ? { config: configJson(parsed.data) } : {} };
}
