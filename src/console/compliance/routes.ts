import { z } from 'zod';
import { endpoint, type AnyEndpoint, type ProjectSession } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { listOf, pageOf, type PageQuery } from '../../http/keyset-page.ts';
import { withListedPlayer } from '../../players/profile/read.ts';
import { projectRefOf } from '../../tenants/project-ref.ts';
import { playerRefOf } from '../../players/player-ref.ts';
import type { Platform } from '../../platform/platform.ts';
import { blockedJson, exclusionJson } from './exclusion-json.ts';
import { listBlockedSends, listExclusions, type ExclusionRow } from './exclusion-queries.ts';
import { licenceOf } from './licence.ts';
import { excludePlayer, liftExclusion } from './officer.ts';
import { readPeriodProofs } from './period-proof.ts';
import { readProof } from './read-proof.ts';
import { resolveConflict } from './resolve.ts';
import { listConflicts, listPendingKyc } from './review-queries.ts';
import {
  blockedSend,
  excludeBody,
  exclusion,
  exclusionProof,
  identityConflict,
  kycWaiting,
  licenceInForce,
  liftExclusionBody,
  listBlockedSendsQuery,
  listExclusionsQuery,
  pageQuery,
  periodProof,
  periodProofQuery,
  resolveConflictBody,
  resolvedConflict,
  type ListBlockedSendsQuery,
  type ListExclusionsQuery,
  type PeriodProofQuery,
} from './schema.ts';

type Deps = Pick<Platform, 'postgres' | 'clock'>;

/** What a compliance officer asks: who was excluded, whether they got anything, what was held back, what waits. */
export function complianceEndpoints(deps: Deps): AnyEndpoint[] {
  const shared = {
    method: 'GET',
    access: { mode: 'session', role: 'viewer', scope: 'project' },
  } as const;
  const list = { ...shared, shape: 'list' } as const;
  return [
    endpoint({
      ...list,
      path: '/v1/compliance/exclusions',
      summary: 'Self-exclusions and breaks with start and end, the newest first',
      query: listExclusionsQuery,
      response: z.array(exclusion),
      handle: ({ caller, query }) => exclusionPage(deps, caller, query),
    }),
    endpoint({
      ...shared,
      path: '/v1/compliance/exclusions/:player_id/proof',
      summary:
        'What a player got while excluded: every message and bonus that was handed over, and what was stopped',
      response: exclusionProof,
      errors: ['PLAYER_NOT_FOUND'],
      handle: async ({ caller, params }) =>
        envelope(await readProof(deps, { ...projectRefOf(caller), player_id: params['player_id'] ?? '' })),
    }),
    endpoint({
      ...list,
      path: '/v1/compliance/period-proof',
      summary:
        'The exclusions in force in a period, the newest first, each with what was handed over in the period',
      query: periodProofQuery,
      response: z.array(periodProof),
      handle: ({ caller, query }) => periodPage(deps, caller, query),
    }),
    endpoint({
      ...list,
      path: '/v1/compliance/blocked-sends',
      summary: 'Messages that were not sent in order to protect their players, the newest first',
      query: listBlockedSendsQuery,
      response: z.array(blockedSend),
      handle: ({ caller, query }) => blockedPage(deps, caller, query),
    }),
    endpoint({
      ...list,
      path: '/v1/compliance/conflicts',
      summary: 'Players whose ids name two people, the newest first',
      query: pageQuery,
      response: z.array(identityConflict),
      handle: ({ caller, query }) => conflictPage(deps, caller, query),
    }),
    endpoint({
      ...list,
      path: '/v1/compliance/kyc-queue',
      summary: 'Players whose verification waits for a decision, the newest players first',
      query: pageQuery,
      response: z.array(kycWaiting),
      handle: ({ caller, query }) => kycPage(deps, caller, query),
    }),
    endpoint({
      ...shared,
      access: { mode: 'session', role: 'viewer', scope: 'tenant' },
      path: '/v1/compliance/licence',
      summary: 'The licence of the tenant, and the rules for bonuses and messages that hold now',
      response: licenceInForce,
      handle: async ({ caller }) => envelope(await licenceOf(deps, caller.tenant_id)),
    }),
    resolveEndpoint(deps),
    ...exclusionEndpoints(deps),
  ];
}

/** Exclusions that officers set and end. */
function exclusionEndpoints(deps: Deps): AnyEndpoint[] {
  const shared = {
    method: 'POST',
    access: { mode: 'session', role: 'compliance', scope: 'project' },
    response: exclusion,
    errors: ['PLAYER_NOT_FOUND', 'CONFLICT'],
  } as const;
  const shown = (record: ExclusionRow) => envelope(exclusionJson(record, new Date(deps.clock.now_ms())));
  return [
    endpoint({
      ...shared,
      path: '/v1/compliance/exclusions',
      summary:
        'Excludes a player, or begins a break, with a reason; it holds from the answer on, as by an event',
      audit: { resource: 'player', action: 'exclude' },
      body: excludeBody,
      status: 201,
      handle: async ({ caller, body, audit }) => {
        const ref = { ...projectRefOf(caller), player_id: body.player_id };
        return shown(await excludePlayer({ ...deps, audit }, ref, body));
      },
    }),
    endpoint({
      ...shared,
      path: '/v1/compliance/exclusions/:player_id/lift',
      summary: 'Ends the self-exclusion of a player, with a reason; a break ends by itself',
      audit: { resource: 'player', action: 'lift' },
      body: liftExclusionBody,
      handle: async ({ caller, params, body, audit }) => {
        const ref = { ...projectRefOf(caller), player_id: params['player_id'] ?? '' };
        return shown(await liftExclusion({ ...deps, audit }, ref, body.reason));
      },
    }),
  ];
}

function resolveEndpoint(deps: Deps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/compliance/conflicts/:id/resolve',
    summary:
      'Ends the review of a player in conflict: the player is active again, and the note is in the audit log',
    audit: { resource: 'player', action: 'resolve' },
    access: { mode: 'session', role: 'compliance', scope: 'project' },
    body: resolveConflictBody,
    response: resolvedConflict,
    errors: ['PLAYER_NOT_FOUND', 'CONFLICT'],
    handle: async ({ caller, params, body, audit }) => {
      const ref = playerRefOf(caller, params);
      return envelope(await resolveConflict({ ...deps, audit }, ref, body.note));
    },
  });
}

async function exclusionPage(
  { postgres, clock }: Deps,
  caller: ProjectSession,
  query: ListExclusionsQuery,
): Promise<string> {
  const filters = await withListedPlayer(postgres, caller, query);
  const now = new Date(clock.now_ms());
  return listOf(postgres, caller, query, {
    kind: 'exclusions',
    select: (tx, after, limit) => listExclusions(tx, caller, filters, now, after, limit),
    positionOf: (row) => [row.accepted_us, row.exclusion_id],
    show: (row) => exclusionJson(row, now),
  });
}

async function periodPage(deps: Deps, caller: ProjectSession, query: PeriodProofQuery): Promise<string> {
  const period = { from: new Date(query.from), to: new Date(query.to) };
  const { rows, next_cursor } = await pageOf(deps.postgres, caller, query, {
    kind: 'period-proof',
    // In force in the period is what is not over at its begin, and came before its end.
    select: (tx, after, limit) =>
      listExclusions(tx, caller, { state: 'active', to: query.to }, period.from, after, limit),
    positionOf: (row) => [row.accepted_us, row.exclusion_id],
  });
  return envelope(await readPeriodProofs(deps, projectRefOf(caller), rows, period), { next_cursor });
}

async function blockedPage(
  { postgres }: Deps,
  caller: ProjectSession,
  query: ListBlockedSendsQuery,
): Promise<string> {
  const filters = await withListedPlayer(postgres, caller, query);
  return listOf(postgres, caller, query, {
    kind: 'blocked-sends',
    select: (tx, after, limit) => listBlockedSends(tx, caller, filters, after, limit),
    positionOf: (row) => [row.enqueued_us, row.send_id],
    show: blockedJson,
  });
}

function conflictPage({ postgres }: Deps, caller: ProjectSession, query: PageQuery): Promise<string> {
  return listOf(postgres, caller, query, {
    kind: 'conflicts',
    select: (tx, after, limit) => listConflicts(tx, caller, after, limit),
    positionOf: (row) => [row.created_us, row.player_id],
    show: ({ created_us: _created_us, ...row }) => row,
  });
}

function kycPage({ postgres }: Deps, caller: ProjectSession, query: PageQuery): Promise<string> {
  return listOf(postgres, caller, query, {
    kind: 'kyc-queue',
    select: (tx, after, limit) => listPendingKyc(tx, caller, after, limit),
    positionOf: (row) => [row.created_us, row.player_id],
    show: ({ created_us: _created_us, ...row }) => row,
  });
}
