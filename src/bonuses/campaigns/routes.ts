import { z } from 'zod';
import { upliftEndpoint } from '../../engage/experiments/uplift-endpoint.ts';
import type { Effects } from '../../engage/experiments/uplift.ts';
import { endpoint, type AnyEndpoint } from '../../http/endpoint.ts';
import { envelope } from '../../http/envelope.ts';
import { settingsJson } from './campaign-json.ts';
import { PAGE_QUERY, pageOf } from '../../http/keyset-page.ts';
import { refuseUnwritable } from '../../http/json-body.ts';
import { ownerOf, refOf } from '../../http/record.ts';
import { wireAmount } from '../templates/config.ts';
import { changeBonusCampaign, createBonusCampaign } from './change.ts';
import { DryRuns } from './dry-run.ts';
import { grantToMember } from './internal-grant.ts';
import { countCampaignMembers, startIssue } from './issue.ts';
import { listBonusCampaigns } from './queries.ts';
import { BONUS_CAMPAIGN, findBonusCampaign, showCampaigns } from './read.ts';
import {
  BONUS_CAMPAIGN_FILTERS,
  bonusCampaignResource,
  COMPUTED_FIELDS,
  createBonusCampaignBody,
  internalGrantBody,
  internalGrantResult,
  issueQuery,
  issueResult,
  patchBonusCampaignBody,
} from './schema.ts';
import { AssignmentCopies, experimentOfBonusCampaign } from './uplift.ts';
import type { WorkDeps } from './work.ts';

const path = '/v1/bonus-campaigns';
const read = { mode: 'session', role: 'viewer', scope: 'project' } as const;
const write = { mode: 'session', role: 'editor', scope: 'project' } as const;
/** The errors of what a campaign names. */
const CONTENT = [
  'BONUS_TEMPLATE_NOT_FOUND',
  'BONUS_DEPOSIT_AMOUNT_REQUIRED',
  'BONUS_CONFIG_INVALID',
  'LICENCE_RULE_VIOLATED',
] as const;

/** Bonus campaigns (spec part 4). */
export function bonusCampaignEndpoints(deps: WorkDeps & { effects: Effects }): AnyEndpoint[] {
  const copies = new AssignmentCopies(deps);
  return [
    ...readEndpoints(deps),
    ...writeEndpoints(deps),
    issueEndpoint(deps),
    internalEndpoint(deps),
    upliftEndpoint(deps, {
      collection: 'bonus-campaigns',
      not_found: 'BONUS_CAMPAIGN_NOT_FOUND',
      of: async (caller, id) =>
        experimentOfBonusCampaign(
          copies,
          await findBonusCampaign(deps.postgres, refOf(BONUS_CAMPAIGN, caller, id)),
        ),
    }),
  ];
}

function readEndpoints({ postgres }: WorkDeps): AnyEndpoint[] {
  return [
    endpoint({
      method: 'GET',
      path,
      summary: 'Lists bonus campaigns, the newest first',
      access: read,
      query: z.strictObject({ ...PAGE_QUERY, ...BONUS_CAMPAIGN_FILTERS }),
      response: z.array(bonusCampaignResource),
      shape: 'list',
      handle: async ({ caller, query }) => {
        const project = ownerOf('project', caller);
        const { rows, next_cursor } = await pageOf(postgres, project, query, {
          kind: 'bonus-campaigns',
          select: (tx, after, limit, filters) => listBonusCampaigns(tx, project, filters, after, limit),
          positionOf: (row) => [row.created_us, row.campaign_id],
        });
        return envelope(await showCampaigns(postgres, project, rows), { next_cursor });
      },
    }),
    endpoint({
      method: 'GET',
      path: `${path}/:id`,
      summary: 'One bonus campaign with the outcomes of its members',
      versioned: true,
      access: read,
      response: bonusCampaignResource,
      errors: ['BONUS_CAMPAIGN_NOT_FOUND'],
      handle: async ({ caller, params, sendVersion }) => {
        const ref = refOf(BONUS_CAMPAIGN, caller, params['id']);
        const row = await findBonusCampaign(postgres, ref);
        const [shown] = await showCampaigns(postgres, ref, [row]);
        sendVersion(settingsJson(row));
        return envelope(shown);
      },
    }),
  ];
}

function writeEndpoints(deps: WorkDeps): AnyEndpoint[] {
  const { postgres } = deps;
  return [
    endpoint({
      method: 'POST',
      path,
      audit: { resource: 'bonus_campaign', action: 'create' },
      summary: 'Creates a draft of a bonus campaign; with a time in `schedule_at` it is issued then',
      access: write,
      body: createBonusCampaignBody,
      refuse: refuseUnwritable(new Set([...COMPUTED_FIELDS, 'status'])),
      status: 201,
      response: bonusCampaignResource,
      errors: [...CONTENT, 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, body, audit }) => {
        const project = ownerOf('project', caller);
        const row = await createBonusCampaign({ ...deps, audit }, project, body);
        const [shown] = await showCampaigns(postgres, project, [row]);
        return envelope(shown);
      },
    }),
    endpoint({
      method: 'PATCH',
      path: `${path}/:id`,
      versioned: true,
      audit: { resource: 'bonus_campaign', action: 'update' },
      summary:
        'Changes a draft or scheduled bonus campaign; `status` alone pauses, resumes or cancels one that is being issued',
      access: write,
      body: patchBonusCampaignBody,
      refuse: refuseUnwritable(COMPUTED_FIELDS),
      response: bonusCampaignResource,
      errors: ['BONUS_CAMPAIGN_NOT_FOUND', 'BONUS_CAMPAIGN_INVALID_STATUS', ...CONTENT, 'FIELD_NOT_WRITABLE'],
      handle: async ({ caller, params, body, audit, sendVersion }) => {
        const ref = refOf(BONUS_CAMPAIGN, caller, params['id']);
        const row = await changeBonusCampaign({ ...deps, audit }, ref, body);
        sendVersion(settingsJson(row));
        const [shown] = await showCampaigns(postgres, ref, [row]);
        return envelope(shown);
      },
    }),
  ];
}

function issueEndpoint(deps: WorkDeps): AnyEndpoint {
  const dry_runs = new DryRuns(deps);
  return endpoint({
    method: 'POST',
    path: `${path}/:id/issue`,
    load: 'slow',
    audit: { resource: 'bonus_campaign', action: 'issue' },
    summary:
      'Grants the template to the members of the segment, in the background; `dry_run=true` only counts, and writes nothing',
    access: write,
    query: issueQuery,
    response: issueResult,
    idempotent: true,
    errors: [
      'BONUS_CAMPAIGN_NOT_FOUND',
      'BONUS_CAMPAIGN_INVALID_STATUS',
      'BONUS_TEMPLATE_NOT_ACTIVE',
      ...CONTENT,
      'VALIDATION_ERROR',
    ],
    handle: async ({ caller, params, query, once, replay, leaves, audit }) => {
      const stop = leaves();
      const ref = refOf(BONUS_CAMPAIGN, caller, params['id']);
      const before = await replay(ref.tenant_id);
      if (before !== undefined) return before;
      if (query.dry_run === 'true') {
        const { cost_base, ...counts } = await dry_runs.run(ref, stop);
        const answer = envelope({ ...counts, cost_base: wireAmount(cost_base) });
        return once(ref.tenant_id, () => Promise.resolve(answer));
      }
      const counted = await countCampaignMembers(deps.postgres, ref);
      const now = new Date(deps.clock.now_ms());
      return once(ref.tenant_id, async (tx) => envelope(await startIssue(tx, ref, counted, { now, audit })));
    },
  });
}

function internalEndpoint(deps: WorkDeps): AnyEndpoint {
  return endpoint({
    method: 'POST',
    path: '/v1/internal/bonus-grant',
    load: 'elsewhere',
    audit: { none: 'the issue of the campaign is recorded' },
    summary: 'Decides about one member of a bonus campaign; a repetition returns the outcome',
    access: { mode: 'internal' },
    body: internalGrantBody,
    response: internalGrantResult,
    errors: [
      'BONUS_CAMPAIGN_NOT_FOUND',
      'BONUS_CAMPAIGN_INVALID_STATUS',
      'PLAYER_NOT_FOUND',
      'BONUS_TEMPLATE_NOT_FOUND',
      'BONUS_TEMPLATE_NOT_ACTIVE',
      'BONUS_CONFIG_INVALID',
      'ADAPTER_UNAVAILABLE',
    ],
    handle: async ({ body }) => envelope(await grantToMember(deps, body)),
  });
}
