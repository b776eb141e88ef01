import type { Postgres, Tx } from '../../platform/postgres/port.ts';
import type { CampaignRef } from './queries.ts';

/** The most messages that one transaction queues again. */
export const MAX_REQUEUED = 1_000;

/** The messages that the campaign's provider did not take in time: they are in an index of their own. */
function unavailable(tx: Tx, { tenant_id, project_id, campaign_id }: CampaignRef) {
  return tx`s.tenant_id = ${tenant_id} and s.project_id = ${project_id} and s.campaign_id = ${campaign_id}
    and s.status = 'failed' and s.error_code = 'PROVIDER_UNAVAILABLE'`;
}

/**
 * Those of them that are queued again. One person gets one message. A message that a merge moved to a survivor who has one
 * is not queued. The survivor's own is not queued either when a moved one waits or may have gone out, or when the person
 * was held out under the other id. Few players are
 * survivors, so this is asked first. `offset 0` keeps both from becoming joins of whole tables.
 */
function requeueable(tx: Tx, ref: CampaignRef) {
  return tx`${unavailable(tx, ref)} and s.dedup_key not like '% merged %'
    and (
      not exists (
        select from player_merges p
        where p.into_player_id = s.player_id and p.tenant_id = s.tenant_id and p.project_id = s.project_id offset 0)
      or not exists (
        select from message_sends o
        where o.tenant_id = s.tenant_id and o.project_id = s.project_id and o.campaign_id = s.campaign_id
          and o.player_id = s.player_id
          and (o.error_code in ('SKIPPED_HOLDOUT', 'SKIPPED_GLOBAL_HOLDOUT')
            or (starts_with(o.dedup_key, s.dedup_key || ' merged ')
              and (o.status in ('queued', 'sending') or o.counted_at is not null))) offset 0))`;
}

/**
 * How many messages of the campaign failed with PROVIDER_UNAVAILABLE: at least as many as can be queued again. It reads an
 * index of so many entries, so it belongs before the transaction, on the connections for counting.
 */
export async function countUnavailable(
  postgres: Pick<Postgres, 'countAsTenant'>,
  ref: CampaignRef,
): Promise<number> {
  const [row] = await postgres.countAsTenant(
    ref.tenant_id,
    (tx) => tx<{ found: number }[]>`
      select count(*)::integer as found from message_sends s where ${unavailable(tx, ref)}`,
  );
  return row?.found ?? 0;
}

/** Queues up to {@link MAX_REQUEUED} of these messages again; they wait for the provider `until` then. */
export async function requeueUnavailable(tx: Tx, ref: CampaignRef, until: Date): Promise<number> {
  const { count } = await tx`
    with chosen as materialized (
      select s.ctid from message_sends s where ${requeueable(tx, ref)}
      order by s.send_id limit ${MAX_REQUEUED} for update skip locked
    )
    update message_sends m
    set status = 'queued', error_code = null, provider_code = null, provider_message = null, retry_at = null, give_up_at = ${until},
      changed_xid = pg_current_xact_id()
    from chosen
    where m.ctid = chosen.ctid`;
  return count;
}

/** Marks the campaign as sending, with messages left to queue again. */
export async function markRetrying(tx: Tx, ref: CampaignRef, until: Date, now: Date): Promise<void> {
  await tx`
    update campaigns
    set status = 'sending', finished_at = null, retry_failed_until = ${until}, updated_at = ${now}
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}`;
}

/** Marks that the campaign has no messages left to queue again, unless it was retried again since. */
export async function endRetrying(tx: Tx, ref: CampaignRef, until: Date): Promise<void> {
  await tx`
    update campaigns set retry_failed_until = null
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}
      and retry_failed_until = ${until}`;
}

/** Until when messages that are queued again wait for the provider; undefined: the campaign has none left to queue. */
export async function selectRetrying(tx: Tx, ref: CampaignRef): Promise<Date | undefined> {
  const [row] = await tx<{ until: Date }[]>`
    select retry_failed_until as until from campaigns
    where tenant_id = ${ref.tenant_id} and project_id = ${ref.project_id} and campaign_id = ${ref.campaign_id}
      and retry_failed_until is not null and status = 'sending'`;
  return row?.until;
}
