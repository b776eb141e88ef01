import { z } from 'zod';
import { nameSchemas } from '../../http/field-schemas.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { reconcileBonuses, type BonusReconcileDeps } from './reconcile.ts';

const count = z.int().min(0);

const summary = z.object({
  checked: count.describe('Grants that were compared'),
  applied: count.describe('Grants that were moved: their platform, or the clock, has moved on'),
  mismatched: count.describe('Grants and budgets whose figures differ'),
  missing: count.describe('Active grants that their platform does not know; they are marked for review'),
  failed: count.describe('Grants whose platform could not be asked, and budgets that could not be read'),
  incomplete: count.describe('Platforms with grants that were not compared; 0: everything was compared'),
});
const reconcileBody = z.strictObject({
  tenant_id: z.guid().optional().describe('Only this tenant; absent: every tenant'),
});
nameSchemas({ BonusReconcileBody: reconcileBody, BonusReconcileReport: summary });

/** Compares bonus grants with their platforms; `npm run bonus-reconcile` calls this endpoint. */
export function bonusReconcileEndpoints(deps: BonusReconcileDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'POST',
      path: '/v1/internal/bonus-reconcile',
      audit: { none: 'what it moves is in the history of each grant, with the source reconciliation' },
      summary:
        'Compares live bonus grants with their platforms, and applies the ends that no webhook has reported',
      access: { mode: 'internal' },
      body: reconcileBody.prefault({}),
      response: summary,
      handle: async ({ body, leaves }) =>
        envelope(await reconcileBonuses(deps, { tenant_id: body.tenant_id, scope: 'whole', stop: leaves() })),
    }),
  ];
}
