import { z } from 'zod';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope, envelopeOfText } from '../../http/envelope.ts';
import { listOf, TIME_AND_ID } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { refOf, requireRow } from '../../http/record.ts';
import { isUuid } from '../../platform/ids.ts';
import { playerRefOf } from '../player-ref.ts';
import { playerNotFound, withSurvivor } from '../profile/read.ts';
import { changeTier, createTier, TIER, tierResourceOf, type ChangeDeps } from './change.ts';
import { selectPlayerTier, selectProjectOfPlayer, type PlayerTierRow } from './player-tier-queries.ts';
import { listTiers, selectTier } from './queries.ts';
import {
  COMPUTED_FIELDS,
  createTierBody,
  FIXED_FIELDS,
  listTiersQuery,
  movedPlayer,
  patchTierBody,
  playerTier,
  recomputeTierBody,
  setTierBody,
  tierChange,
  tierChangesQuery,
  tierResource,
} from './schema.ts';
import { listTierChanges } from './tier-changes-queries.ts';
import { recomputeTier, setTier } from './set-tier.ts';
import { JsonText, exactJson } from '../../platform/exact-json.ts';

/** Entries of the history in an answer. */
const MAX_HISTORY = 200;

const RANK_AND_ID = [(text: string) => /^\d{1,7}$/.test(text), isUuid] as const;

/** VIP tiers, and the tier of a player (spec part 4). */
export function tierEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [
    ...definitionEndpoints(deps),
    ...playerTierEndpoints(deps),
    changesEndpoint(deps),
    recomputeEndpoint(deps),
  ];
}

function definitionEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [...tierReadEndpoints(deps), ...tierWriteEndpoints(deps)];
}

function tierReadEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  const read = { mode: 'session', role: 'viewer', scope: 'tenant' } as const;
  return [
    endpoint({
      method: 'GET',
      path: '/v1/vip-tiers',
      summary: 'Lists VIP tiers, inactive ones too, the lowest rank first',
      access: read,
      query: listTiersQuery,
      response: z.array(tierResource),
      shape: 'list',
      handle: ({ caller: { tenant_id }, query }) =>
        listOf(deps.postgres, { tenant_id }, query, {
          kind: 'vip-tiers',
          shape: RANK_AND_ID,
          select: (tx, after, limit) => listTiers(tx, tenant_id, after, limit),
          positionOf: (row) => [row.rank, row.tier_id],
          show: tierResourceOf,
        }),
    }),
    endpoint({
      method: 'GET',
      path: '/v1/vip-tiers/:id',
      summary: 'One VIP tier',
      versioned: true,
      access: read,
      response: tierResource,
      errors: ['VIP_TIER_NOT_FOUND'],
      handle: async ({ caller, params, sendVersion }) => {
        const ref = refOf(TIER, caller, params['id']);
        const [found] = await deps.postgres.readAsTenant(ref.tenant_id, (tx) => selectTier(tx, ref));
        const shown = tierResourceOf(requireRow(TIER, ref, found));
        sendVersion(shown);
        return envelope(shown);
      },
    }),
  ];
}

function tierWriteEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  const write = { mode: 'session', role: 'editor', scope: 'tenant' } as const;
  return [
    endpoint({
      method: 'POST',
      path: '/v1/vip-tiers',
      summary: 'Creates a VIP tier; players who already qualify get it in the daily sweep',
      audit: { resource: 'vip_tier', action: 'create' },
      access: write,
      body: createTierBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      status: 201,
      response: tierResource,
      errors: ['VIP_TIER_CODE_TAKEN', 'VIP_TIER_RANK_TAKEN', 'CONFLICT', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller: { tenant_id }, body, audit }) =>
        envelope(tierResourceOf(await createTier({ ...deps, audit }, { tenant_id }, body))),
    }),
    endpoint({
      method: 'PATCH',
      path: '/v1/vip-tiers/:id',
      versioned: true,
      summary:
        'Changes a VIP tier; players lose a tier that is not active, and other changes apply in the daily sweep',
      audit: { resource: 'vip_tier', action: 'update' },
      access: write,
      body: patchTierBody,
      refuse: refuseUnwritable(FIXED_FIELDS),
      response: tierResource,
      errors: ['VIP_TIER_NOT_FOUND', 'VIP_TIER_RANK_TAKEN', 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit, sendVersion }) => {
        const ref = refOf(TIER, caller, params['id']);
        const shown = tierResourceOf(await changeTier({ ...deps, audit }, ref, body));
        sendVersion(shown);
        return envelope(shown);
      },
    }),
  ];
}

function playerTierEndpoints(deps: ChangeDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path: '/v1/players/:id/tier',
      summary: 'The tier of a player, with its newest 200 changes, the newest first',
      access: { mode: 'session', role: 'viewer', scope: 'project' },
      response: playerTier,
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller, params }) => {
        const row = await withSurvivor(deps.postgres, playerRefOf(caller, params), async (one) => {
          const [found] = await deps.postgres.readAsTenant(one.tenant_id, (tx) =>
            selectPlayerTier(tx, one, MAX_HISTORY),
          );
          return found;
        });
        return envelopeOfText(playerTierJson(row));
      },
    }),
    endpoint({
      method: 'POST',
      path: '/v1/players/:id/tier',
      summary: 'Sets the tier of a player by hand; an empty body computes it by the rules',
      audit: { resource: 'player', action: 'update' },
      access: { mode: 'session', role: 'editor', scope: 'project' },
      body: setTierBody.prefault({}),
      response: tierChange,
      errors: ['PLAYER_NOT_FOUND', 'VIP_TIER_NOT_FOUND', 'VIP_TIER_INACTIVE', 'CONFLICT'],
      handle: async ({ caller, params, body, audit }) => {
        const ref = playerRefOf(caller, params);
        const { to_code, reason } = body;
        if (to_code === undefined || reason === undefined) {
          return envelope(await recomputeTier({ ...deps, audit }, ref));
        }
        const given = { ...body, to_code, reason, actor: caller.user_id };
        return envelope(await setTier({ ...deps, audit }, ref, given));
      },
    }),
  ];
}

const TIME_AND_ENTRY = [TIME_AND_ID[0], (text: string) => /^\d{1,18}$/.test(text)] as const;

function changesEndpoint({ postgres }: ChangeDeps): AnyEndpoint {
  return endpoint({
    method: 'GET',
    path: '/v1/tier-changes',
    summary: 'Lists the tier changes of players, the newest first',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
    query: tierChangesQuery,
    response: z.array(movedPlayer),
    shape: 'list',
    handle: ({ caller: { tenant_id, project_id }, query }) =>
      listOf(postgres, { tenant_id, project_id }, query, {
        kind: 'tier-changes',
        shape: TIME_AND_ENTRY,
        select: (tx, after, limit, filters) =>
          listTierChanges(tx, { tenant_id, project_id }, filters, after, limit),
        positionOf: (row) => [row.occurred_us, row.entry_id],
        show: ({ entry }) => new JsonText(entry),
      }),
  });
}

function recomputeEndpoint(deps: ChangeDeps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/internal/recompute-tier',
    summary: 'Computes the tier of a player by the rules',
    audit: { resource: 'player', action: 'update' },
    access: { mode: 'internal' },
    body: recomputeTierBody,
    response: tierChange,
    errors: ['PLAYER_NOT_FOUND'],
    handle: async ({ body: { tenant_id, player_id }, audit }) => {
      const [found] = await deps.postgres.readAsTenant(tenant_id, (tx) =>
        selectProjectOfPlayer(tx, tenant_id, player_id),
      );
      if (found === undefined) throw playerNotFound(player_id);
      return envelope(await recomputeTier({ ...deps, audit }, { tenant_id, player_id, ...found }));
    },
  });
}

/** The history is JSON text already: its amounts keep all their digits. */
function playerTierJson({ history, tier_pending_code, ...row }: PlayerTierRow): string {
  const { current_tier_code, tier_promoted_at, tier_demoted_at, tier_locked } = row;
  return exactJson({
    current_tier_code,
    tier_promoted_at,
    tier_demoted_at,
    tier_locked,
    pending_approval: tier_pending_code,
    history: new JsonText(history),
  });
}
