import type { Tx } from '../../platform/postgres/port.ts';
import { isUuid } from '../../platform/ids.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { RuleProduct } from '../../tenants/licence/rule.ts';
import { offerViolations } from './licence-check.ts';
import { selectBonusTemplates } from './queries.ts';
import { termsOf } from './terms.ts';

/** A bonus of a template that players are offered directly. */
export interface DirectOffer {
  template_id: string;
  /** What they bet on to get it; null: on nothing. */
  qualifying_product: RuleProduct | null;
}

/**
 * What the enforced rules of the tenant's licence say against each of these offers; of templates that do not exist
 * nothing.
 */
export async function offerFaults(
  tx: Tx,
  project: ProjectRef,
  offers: readonly DirectOffer[],
  now: Date,
): Promise<string[][]> {
  const { tenant_id, project_id } = project;
  const refs = offers
    .filter(({ template_id }) => isUuid(template_id))
    .map(({ template_id }) => ({ tenant_id, project_id, template_id }));
  const rows = await selectBonusTemplates(tx, refs);
  const terms_of = new Map(
    rows.filter(({ deleted_at }) => deleted_at === null).map((row) => [row.template_id, termsOf(row)]),
  );
  const known = offers.flatMap(({ template_id, qualifying_product }, place) => {
    const terms = terms_of.get(template_id.toLowerCase());
    return terms === undefined ? [] : [{ place, terms, qualifying_product, advertising: 'direct' as const }];
  });
  const broken = await offerViolations(tx, tenant_id, known, now);
  const faults: string[][] = offers.map(() => []);
  for (const [i, { place }] of known.entries()) {
    const enforced = (broken[i] ?? []).filter(({ severity }) => severity === 'enforce');
    faults[place] = enforced.map(({ rule_id, message }) => `${rule_id}: ${message}`);
  }
  return faults;
}
