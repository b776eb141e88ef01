import { afterAll, beforeAll, expect, it } from 'vitest';
import { reported, rejected, again, type Conclusion } from '../../../src/bonuses/grants/conclude.ts';
import { Conclusions } from '../../../src/bonuses/grants/conclusions.ts';
import { answerTo } from '../../../src/bonuses/grants/create.ts';
import type { GrantRow } from '../../../src/bonuses/grants/grant-row.ts';
import { Intents } from '../../../src/bonuses/grants/intents.ts';
import { createAuditWriter } from '../../../src/tenants/audit/write.ts';
import type { Postgres } from '../../../src/platform/postgres/port.ts';
import type { TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { grantsFixture, type GrantsFixture } from './grants-fixture.ts';

// A conclusion that the platform gives again may be lost in a crash, and does not wait for the disk. Any other does.

let service: TestService;
let on: GrantsFixture;
let template_id: string;
beforeAll(async () => {
  service = await sharedService();
  on = grantsFixture(service);
  template_id = await on.template();
});
afterAll(async () => service?.close());

/** A grant whose call is under way. */
async function claimed(): Promise<GrantRow> {
  const { platform, tenant_id, project_id } = service;
  const intents = new Intents({ ...platform, writeAuditRows: createAuditWriter(platform.clock) });
  const intended = await intents.intend({
    project: { tenant_id, project_id },
    request: {
      template_id,
      player_id: await on.player(),
      granted_by_kind: 'manual',
      granted_by_id: null,
      granted_by_user: null,
      deposit_amount: null,
      deposit_transaction_id: null,
      amount_override: null,
      currency_override: null,
      qualifying_product: null,
    },
    platform: { slug: 'sandbox' },
    loss: {},
    call: {
      resource: 'bonus_grant',
      action: 'create',
      session: { user_id: 'test', role: 'owner' },
      request_id: 'test',
    },
    key: undefined,
  });
  if ('before' in intended) throw new Error('a grant without a key was answered before');
  return intended.intent;
}

type Kind = 'credited' | 'accepted' | 'refused' | 'queued';

function conclusionOf(kind: Kind, { grant_id }: GrantRow): Conclusion {
  const now = new Date();
  if (kind === 'refused') return rejected(grant_id, now, { kind: 'refused', code: 'NO', message: 'no' });
  if (kind === 'queued') return again({ kind: 'unknown', message: 'no answer' });
  return reported(grant_id, now, `bonus.${kind}`, { platform_bonus_id: 'pb' });
}

/** Whether the commits of these conclusions, which come at once, wait for the disk. */
async function modesOf(kinds: readonly Kind[]): Promise<string[]> {
  const grants = await Promise.all(kinds.map(claimed));
  const modes: string[] = [];
  const postgres: Postgres = {
    ...service.platform.postgres,
    asTenant: (tenant_id, work) =>
      service.platform.postgres.asTenant(tenant_id, async (tx) => {
        const done = await work(tx);
        const [row] = await tx<{ mode: string }[]>`select current_setting('synchronous_commit') as mode`;
        modes.push(row?.mode ?? '');
        return done;
      }),
  };
  const conclusions = new Conclusions({ ...service.platform, postgres }, answerTo);
  await Promise.all(
    grants.map((grant, i) =>
      conclusions.conclude({
        claimed: grant,
        conclusion: conclusionOf(kinds[i] ?? 'queued', grant),
        key: undefined,
      }),
    ),
  );
  return modes;
}

it.each<[Kind[], string]>([
  [['credited'], 'off'],
  [['accepted', 'credited'], 'off'],
  [['refused'], 'on'],
  [['queued'], 'on'],
  [['credited', 'refused'], 'on'],
])('the commit of %s', async (kinds, mode) => {
  expect(await modesOf(kinds)).toEqual([mode]);
});
