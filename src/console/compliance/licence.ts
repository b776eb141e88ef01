import type { z } from 'zod';
import { licenceRulesOf, readOwnConfig } from '../../tenants/config/read.ts';
import type { licenceInForce } from './schema.ts';
import type { Platform } from '../../platform/platform.ts';

/** The licence of the tenant, and the rules that hold now: of the licence and for all, as the configuration changes them. */
export async function licenceOf(
  { postgres, clock }: Pick<Platform, 'postgres' | 'clock'>,
  tenant_id: string,
): Promise<z.infer<typeof licenceInForce>> {
  const settings = await readOwnConfig(postgres, tenant_id);
  const rules = licenceRulesOf(settings, new Date(clock.now_ms()));
  return {
    license_jurisdiction: settings.license_jurisdiction,
    kyc_model: settings.kyc_model,
    rg_features: settings.config.rg_features ?? [],
    rules: rules.map((rule) => ({
      id: rule.id,
      kind: rule.kind,
      severity: rule.severity,
      applies_to: [...rule.applies_to],
      summary: rule.summary,
      effective_from: rule.effective_from,
      effective_to: rule.effective_to,
      source: rule.source,
      source_url: rule.source_url,
      evidence: rule.evidence,
      checked_on: rule.checked_on,
    })),
  };
}
