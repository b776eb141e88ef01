import { isDeepStrictEqual } from 'node:util';
import { auditOf, type AuditChange } from '../../http/audit.ts';
import { requireRow } from '../../http/record.ts';
import type { Clock } from '../../platform/clock.ts';
import { newId } from '../../platform/ids.ts';
import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { checkFields } from './check.ts';
import type { BonusType } from './config.ts';
import { checkLicence } from './licence-check.ts';
import {
  insertBonusTemplate,
  lockBonusTemplate,
  selectBonusTemplate,
  softDeleteBonusTemplate,
  updateBonusTemplate,
  type BonusTemplateRef,
  type BonusTemplateRow,
} from './queries.ts';
import { BONUS_TEMPLATE } from './read.ts';
import type { CreateBonusTemplateBody, PatchBonusTemplateBody } from './schema.ts';
import { bonusTemplateResourceOf } from './template-json.ts';
import { termsOf, type Product } from './terms.ts';

interface Deps {
  postgres: Postgres;
  clock: Clock;
  audit: AuditChange;
}

/** The fields whose change makes a new version: those that a grant copies, except the name. */
const TERMS_FIELDS = [
  'config',
  'wagering_requirement_multiplier',
  'wagering_basis',
  'game_contribution',
  'max_bet_during_wagering',
  'max_win_cap',
  'max_bet_action',
  'time_limit_hours',
  'wallet_model',
  'product',
] as const satisfies readonly (keyof BonusTemplateRow)[];

/** What bonuses of a type are for, where that follows from the type. */
const PRODUCT_OF_TYPE: Partial<Record<BonusType, Product>> = { free_spins: 'casino', free_bet: 'betting' };

/**
 * Creates a bonus template (spec part 4). Rejects with VALIDATION_ERROR, BONUS_CONFIG_INVALID or LICENCE_RULE_VIOLATED.
 */
export async function createBonusTemplate(
  { postgres, clock, audit }: Deps,
  project: ProjectRef,
  { config, type, ...body }: CreateBonusTemplateBody,
): Promise<BonusTemplateRow> {
  const now = new Date(clock.now_ms());
  const fields = { ...storedFields(body), product: body.product ?? PRODUCT_OF_TYPE[type] ?? 'any' };
  return postgres.asTenant(project.tenant_id, async (tx) => {
    const checked = await checkFields(tx, project, { ...fields, type }, { ...fields, config });
    const row: BonusTemplateRow = {
      ...fields,
      type,
      config: checked.config,
      template_id: newId(),
      version: 1,
      licence_warnings: [],
      created_at: now,
      updated_at: now,
      deleted_at: null,
    };
    row.licence_warnings = await checkLicence(tx, project.tenant_id, termsOf(row), now);
    await insertBonusTemplate(tx, project, row);
    return auditTemplate(audit, tx, project, null, row);
  });
}

/**
 * Changes a bonus template; live grants keep the terms that they have. Rejects with BONUS_TEMPLATE_NOT_FOUND,
 * VALIDATION_ERROR, BONUS_CONFIG_INVALID or LICENCE_RULE_VIOLATED.
 */
export async function changeBonusTemplate(
  { postgres, clock, audit }: Deps,
  ref: BonusTemplateRef,
  patch: PatchBonusTemplateBody,
): Promise<BonusTemplateRow> {
  const { config, ...rest } = patch;
  const given = storedFields(rest);
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const row = requireRow(BONUS_TEMPLATE, ref, await lockBonusTemplate(tx, ref));
    const merged = { ...row, ...given };
    const checked = await checkFields(tx, ref, merged, {
      ...given,
      ...('config' in patch ? { config } : {}),
    });
    const changed = { ...merged, ...checked, updated_at: now };
    const has_new_terms = TERMS_FIELDS.some((field) => !isDeepStrictEqual(row[field], changed[field]));
    if (has_new_terms) changed.version = row.version + 1;
    changed.licence_warnings = await warningsOf(tx, ref, { row, changed, has_new_terms, now });
    await updateBonusTemplate(tx, ref, changed);
    return auditTemplate(audit, tx, ref, row, changed);
  });
}

/**
 * The warnings of a changed template. A template that rules forbid by now can still be renamed and paused, so the rules
 * are asked only when its terms change or grants from it begin again.
 */
async function warningsOf(
  tx: Tx,
  { tenant_id }: ProjectRef,
  change: { row: BonusTemplateRow; changed: BonusTemplateRow; has_new_terms: boolean; now: Date },
): Promise<BonusTemplateRow['licence_warnings']> {
  const { row, changed, has_new_terms, now } = change;
  const resumes = row.status === 'paused' && changed.status === 'active';
  if (!has_new_terms && !resumes) return row.licence_warnings;
  return checkLicence(tx, tenant_id, termsOf(changed), now);
}

/** Soft delete: live grants go on. Idempotent. Rejects with BONUS_TEMPLATE_NOT_FOUND. */
export async function deleteBonusTemplate(
  { postgres, clock, audit }: Deps,
  ref: BonusTemplateRef,
): Promise<BonusTemplateRow> {
  const now = new Date(clock.now_ms());
  return postgres.asTenant(ref.tenant_id, async (tx) => {
    const live = await lockBonusTemplate(tx, ref);
    await softDeleteBonusTemplate(tx, ref, now);
    const [row] = await selectBonusTemplate(tx, ref);
    const deleted = requireRow(BONUS_TEMPLATE, ref, row);
    if (live !== undefined) await auditTemplate(audit, tx, ref, live, deleted);
    return deleted;
  });
}

const auditTemplate = auditOf(BONUS_TEMPLATE, bonusTemplateResourceOf);

type BodyFields = Omit<PatchBonusTemplateBody, 'config'>;

/** The fields of a body that are given, as a row has them: numbers of arbitrary size are digits. */
type StoredFields<Body extends BodyFields> = {
  [Field in keyof Body]: Field extends 'wagering_requirement_multiplier'
    ? string
    : Field extends 'max_bet_during_wagering' | 'max_win_cap'
      ? string | null
      : Exclude<Body[Field], undefined>;
};

function storedFields<Body extends BodyFields>(body: Body): StoredFields<Body> {
  const entries = Object.entries(body).filter(([, value]) => value !== undefined);
  const stored = entries.map(([field, value]: [string, unknown]) => {
    if (field === 'wagering_requirement_multiplier') return [field, Number(value).toFixed(2)];
    const isDigits = field === 'max_bet_during_wagering' || field === 'max_win_cap';
    return [field, isDigits && typeof value === 'bigint' ? String(value) : value];
  });
  return Object.fromEntries(stored) as StoredFields<Body>;
}
