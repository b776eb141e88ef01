import { plainArray } from '../../../src/platform/postgres/arrays.ts';
import type { TestService } from '../../engines/service.ts';

/** Fills the project of the service up to `size` players, each with money, memberships and messages. */
export async function growTo(
  service: TestService,
  size: number,
  segment_ids: readonly string[],
): Promise<void> {
  const { tenant_id, project_id } = service;
  await service.platform.postgres.service.begin(async (tx) => {
    const [row] = await tx<{ count: number }[]>`
      select count(*)::integer as count from player_identities where anonymous_id like 'device-%'`;
    const from = (row?.count ?? 0) + 1;
    const each = tx`generate_series(${from}::integer, ${size}::integer) i`;
    const player = tx`md5(i::text)::uuid`;
    await tx`
      insert into players (tenant_id, project_id, player_id, anonymous_ids, email, default_currency_code, status,
        self_excluded, is_known_to_segments, created_at, updated_at)
      select ${tenant_id}, ${project_id}, ${player}, array['device-' || i], 'device-' || i || '@example.com', 'EUR',
        case when i % 20 = 0 then 'self_excluded' else 'active' end, i % 20 = 0, true, now(), now() from ${each}`;
    await tx`
      insert into player_identities (tenant_id, project_id, anonymous_id, player_id, linked_at)
      select ${tenant_id}, ${project_id}, 'device-' || i, ${player}, now() from ${each}`;
    await tx`
      insert into player_totals (tenant_id, project_id, player_id, first_seen_at, listed_at, updated_at)
      select ${tenant_id}, ${project_id}, ${player}, now(), now() - i * interval '1 second', now() from ${each}`;
    await tx`
      insert into player_merges (tenant_id, project_id, player_id, into_player_id, merged_at, rewritten_at)
      select ${tenant_id}, ${project_id}, md5('merged' || i)::uuid, ${player}, now(), now() from ${each} where i % 10 = 0`;
    await tx`
      insert into kyc_decisions (tenant_id, project_id, player_id, decision_id, kind, source, occurred_at, received_at,
        level, applied, kyc_status)
      select ${tenant_id}, ${project_id}, ${player}, md5(i || 'kyc' || n)::uuid, 'approved', 'event', now(), now(), n,
        true, 'approved' from ${each}, generate_series(1, 2) n`;
    await tx`
      insert into ledger (project_no, reference, ordinal, event, player_id, occurred_at, currency,
        amount, base_amount, ingestion_id, event_index, log_partition, log_offset)
      select p.project_no, 'old-' || i || '-' || n, 0, 'deposit_confirmed', ${player}, now(), 'EUR',
        500, 500, ${player}, n, 0, 0
      from ${each}, generate_series(1, 3) n, projects p
      where p.tenant_id = ${tenant_id} and p.project_id = ${project_id}`;
    await tx`
      insert into segment_members (tenant_id, project_id, segment_id, player_id, entered_at)
      select ${tenant_id}, ${project_id}, segment_id, ${player}, now()
      from ${each}, unnest(${plainArray(segment_ids)}::text::uuid[]) segment_id`;
    await tx`
      insert into message_sends (tenant_id, project_id, send_id, campaign_id, player_id, channel, status, sent_at,
        counted_at, enqueued_at)
      select ${tenant_id}, ${project_id}, md5(i || 'send' || n)::uuid, md5('campaign' || n)::uuid, ${player}, 'email',
        'sent', now() - interval '30 days', now() - interval '30 days', now() - interval '30 days'
      from ${each}, generate_series(1, 2) n`;
  });
}
