import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ROLES } from '../../../src/config.ts';
import { reserveGrants } from '../../../src/bonuses/grants/reserve.ts';
import {
  savePosition,
  selectCutLanes,
  selectGrantsToCompare,
  selectLiveLanes,
} from '../../../src/bonuses/reconcile/reconcile-queries.ts';
import { selectTemplateCheck } from '../../../src/bonuses/reconcile/budget-queries.ts';
import { selectBonuses } from '../../../src/engage/templates/bonus-queries.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { startExplainedService, type ExplainedService } from '../../platform/postgres/statement-plans.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

/** A statement that reads all of the 20,000 grants reads far more blocks. */
const MOST_BLOCKS = 150;

let explained: ExplainedService;
let on: GrantsFixture;
let template_id: string;
let player_id: string;
beforeAll(async () => {
  // The loops of bonus-sender would read the same tables beside the statements that are looked at.
  const roles = new Set(ROLES.filter((role) => role !== 'bonus-sender'));
  explained = await startExplainedService({ roles });
  on = grantsFixture(explained.service);
  template_id = await on.template({
    max_grants_per_player: 3,
    budget_base: 1_000_000,
    exclusion_group: 'welcome',
  });
  player_id = await on.player();
  const { data } = await on.grant(await on.template(), player_id);
  await on.sql`
    insert into bonus_grants (tenant_id, project_id, grant_id, template_id, template_version, player_id, granted_by_kind,
      terms, slot, status, outcome, adapter_slug, player_external_id, order_body, currency, bonus_amount,
      bonus_amount_base, wagering_required, created_at, updated_at)
    select tenant_id, project_id, gen_random_uuid(), gen_random_uuid(), 1, gen_random_uuid(), 'manual', terms, 1,
      case when i % 2 = 0 then 'active' else 'completed' end, 'confirmed', adapter_slug, player_external_id, order_body,
      currency, bonus_amount, bonus_amount_base, wagering_required, now() - i * interval '1 minute', now()
    from bonus_grants, generate_series(1, 20000) i where grant_id = ${data.id}`;
});
afterAll(async () => explained?.service.close());

/** The statements of `work` that read many blocks. */
async function heavy(work: (tx: Tx) => Promise<unknown>): Promise<unknown[]> {
  const found = await explained.readsOf(work);
  return found.filter(
    ({ blocks, scans }) => blocks > MOST_BLOCKS && scans.some((scan) => scan.includes('bonus_')),
  );
}

it.each(['without statistics', 'with statistics'])('%s statements read few of many grants', async (when) => {
  if (when === 'with statistics') await explained.analyze();
  const { tenant_id, project_id, platform } = explained.service;
  const grant_id = randomUUID();
  const reservation = {
    tenant_id,
    project_id,
    player_id,
    grant_id,
    template_id,
    granted_by_kind: 'journey' as const,
    granted_by_id: randomUUID(),
    deposit_amount: null,
    qualifying_product: null,
  };
  const reserve = async (tx: Tx) =>
    expect([...(await reserveGrants(tx, platform.clock, [reservation]))]).toEqual([]);
  expect(await heavy(reserve)).toEqual([]);
  await on.sql.begin(reserve);
  const reader = { send_id: randomUUID(), player_id, journey_run_id: reservation.granted_by_id };
  const read = async (tx: Tx) =>
    expect((await selectBonuses(tx, { tenant_id, project_id }, [reader])).get(reader.send_id)?.id).toBe(
      grant_id,
    );
  expect(await heavy(read)).toEqual([]);
  await on.sql`
    update bonus_grants set status = 'expired', next_attempt_at = null where grant_id = ${grant_id}`;
  expect(await heavy((tx) => selectLiveLanes(tx, undefined, 10))).toEqual([]);
  const lane = { tenant_id, project_id, adapter_slug: 'sandbox' };
  const compare = (tx: Tx) =>
    selectGrantsToCompare(
      tx,
      lane,
      { after: randomUUID(), until: undefined, pending_before: new Date() },
      20,
    );
  expect(await heavy(compare)).toEqual([]);
  await on.sql.begin((tx) => savePosition(tx, lane, { after_grant_id: grant_id, began_after: grant_id }));
  expect(await heavy((tx) => selectCutLanes(tx, undefined, 10))).toEqual([]);
  expect(
    await heavy((tx) => selectTemplateCheck(tx, { tenant_id, project_id, owner_id: template_id })),
  ).toEqual([]);
  await on.sql.begin((tx) => savePosition(tx, lane, undefined));
});
