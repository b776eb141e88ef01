import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../dependents.ts';

/** The ids that the person was known by: anonymous ones, and those of players merged into it. */
const ids: PlayerFile = {
  name: 'ids',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select position, line from (
        select 'anonymous ' || i.anonymous_id as position, json_build_object('kind', 'anonymous_id', 'id', i.anonymous_id,
          'linked_at', i.linked_at)::text as line
        from player_identities i
        where i.player_id = any(${plainArray(player_ids)}::text::uuid[]) and i.tenant_id = ${tenant_id}
          and i.project_id = ${project_id}
        union all
        select 'player ' || m.player_id::text, json_build_object('kind', 'merged_player_id', 'id', m.player_id,
          'merged_at', m.merged_at)::text
        from player_merges m
        where m.into_player_id = any(${plainArray(player_ids)}::text::uuid[]) and m.tenant_id = ${tenant_id}
          and m.project_id = ${project_id}
      ) i
      where position collate "C" > ${after ?? ''} order by position collate "C" limit ${limit}`;
  },
};

/** Since when and until when the person was excluded or took a break. */
const exclusions: PlayerFile = {
  name: 'exclusions',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select e.exclusion_id::text as position, json_build_object('kind', e.kind, 'since', e.since, 'until',
        least(e.ended_at, e.ends_at), 'accepted_at', e.accepted_at, 'source', e.source)::text as line
      from player_exclusions e
      where e.player_id = any(${plainArray(player_ids)}::text::uuid[]) and e.tenant_id = ${tenant_id}
        and e.project_id = ${project_id} and e.exclusion_id > ${after ?? NIL_ID}::uuid
      order by e.exclusion_id limit ${limit}`;
  },
};

/** The decisions about the person's KYC. */
const kyc: PlayerFile = {
  name: 'kyc',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select d.decision_id::text as position, json_build_object('kind', d.kind, 'source', d.source,
        'occurred_at', d.occurred_at, 'level', d.level, 'expires_at', d.expires_at, 'applied', d.applied,
        'kyc_status', d.kyc_status, 'reason', d.reason, 'requirements', d.requirements)::text as line
      from kyc_decisions d
      where d.player_id = any(${plainArray(player_ids)}::text::uuid[]) and d.tenant_id = ${tenant_id}
        and d.project_id = ${project_id} and d.decision_id > ${after ?? NIL_ID}::uuid
      order by d.decision_id limit ${limit}`;
  },
};

/** The tiers that the person had. */
const tiers: PlayerFile = {
  name: 'tiers',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select lpad(h.entry_id::text, 20, '0') as position, json_build_object('from_code', h.from_code,
        'to_code', h.to_code, 'trigger', h.trigger, 'context', h.context, 'occurred_at', h.occurred_at)::text as line
      from player_tier_history h
      where h.player_id = any(${plainArray(player_ids)}::text::uuid[]) and h.tenant_id = ${tenant_id}
        and h.project_id = ${project_id} and h.entry_id > ${after ?? '0'}::text::bigint
      order by h.entry_id limit ${limit}`;
  },
};

/** Who changed what about the person; not whose user it was, who is a person as well. */
const audit: PlayerFile = {
  name: 'audit',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select a.audit_id::text as position, json_build_object('id', a.audit_id, 'occurred_at', a.occurred_at,
        'by', case when a.user_id is null then 'service' else a.role end, 'action', a.action,
        'resource_type', a.resource_type, 'before', a.before, 'after', a.after)::text as line
      from audit_log a
      where a.tenant_id = ${tenant_id} and a.project_id = ${project_id}
        and a.resource_id in (select id::text from unnest(${plainArray(player_ids)}::text::uuid[]) as i (id))
        and a.audit_id > ${after ?? NIL_ID}::uuid
      order by a.audit_id limit ${limit}`;
  },
};

/** In which hours of the local week, 0 to 167 from Monday 00:00 on, the person had how many sessions: what send times are chosen by. */
const sessionHours: PlayerFile = {
  name: 'session_hours',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select position, json_build_object('hour_of_week', hour, 'sessions', sessions)::text as line
      from (
        select p.player_id::text || ' ' || lpad(h.hour::text, 3, '0') as position, h.hour, h.sessions
        from players p
        cross join lateral (
          select get_byte(p.session_hours, 2 * i) as hour, get_byte(p.session_hours, 2 * i + 1) as sessions
          from generate_series(0, length(p.session_hours) / 2 - 1) as i) h
        where p.player_id = any(${plainArray(player_ids)}::text::uuid[]) and p.tenant_id = ${tenant_id}
          and p.project_id = ${project_id}
      ) s
      where position collate "C" > ${after ?? ''} order by position collate "C" limit ${limit}`;
  },
};

/** The files that the players' own tables fill. */
export const OWN_FILES: readonly PlayerFile[] = [ids, exclusions, kyc, tiers, audit, sessionHours];
