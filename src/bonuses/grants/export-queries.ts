import { NIL_ID } from '../../platform/ids.ts';
import { plainArray } from '../../platform/postgres/arrays.ts';
import type { FileLine, PlayerFile } from '../../players/dependents.ts';

/** The bonuses of a person; amounts as digits. */
export const grantsFile: PlayerFile = {
  name: 'grants',
  page(tx, { tenant_id, project_id, player_ids }, after, limit) {
    return tx<FileLine[]>`
      select g.grant_id::text as position, json_build_object('id', g.grant_id, 'template_id', g.template_id,
        'campaign_id', g.campaign_id, 'granted_by_kind', g.granted_by_kind, 'terms', g.terms, 'status', g.status,
        'status_reason', g.status_reason, 'cancel_reason', g.cancel_reason, 'adapter_slug', g.adapter_slug,
        'player_external_id', g.player_external_id, 'currency', g.currency, 'deposit_amount', g.deposit_amount::text,
        'deposit_transaction_id', g.deposit_transaction_id, 'deposit_reversed_at', g.deposit_reversed_at,
        'bonus_amount', g.bonus_amount::text, 'wagering_required', g.wagering_required::text,
        'wagering_progress', g.wagering_progress::text, 'released_amount', g.released_amount::text,
        'created_at', g.created_at, 'activated_at', g.activated_at, 'expires_at', g.expires_at,
        'ended_at', g.ended_at)::text as line
      from bonus_grants g
      where g.player_id = any(${plainArray(player_ids)}::text::uuid[]) and g.tenant_id = ${tenant_id}
        and g.project_id = ${project_id} and g.grant_id > ${after ?? NIL_ID}::uuid
      order by g.grant_id limit ${limit}`;
  },
};
