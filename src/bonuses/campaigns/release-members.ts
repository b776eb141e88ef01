import { v5 } from 'uuid';
import type { Tx } from '../../platform/postgres/port.ts';
import { bonusSettingsOf, licenceRulesOf, readTenantConfig } from '../../tenants/config/read.ts';
import { countedFor, newGrantOf, NO_GRANTS, requestedOf } from '../grants/issue.ts';
import { countGrants, type GrantCounts, type GrantPlayer } from '../grants/issue-queries.ts';
import { selectMembers } from '../grants/reserve-queries.ts';
import type { Worth } from '../grants/worth.ts';
import { currenciesOf } from '../../tenants/licence/effective.ts';
import { valuesInCurrencies } from '../templates/licence-check.ts';
import { selectBonusTemplate, type LicenceWarning } from '../templates/queries.ts';
import { admit, type CampaignGate } from './admit.ts';
import { frozenWorth } from './frozen-terms.ts';
import { selectFrozenTerms } from './frozen-terms-queries.ts';
import type { BonusCampaignRow } from './queries.ts';
import {
  insertReleased,
  lockReserved,
  selectHeldOutTwins,
  type ReleasedGrant,
  type ReservedMember,
} from './release-queries.ts';
import { giveBack, updateRows, type Held, type RowsChange } from './reserve-queries.ts';

/** What was promised, and the gate of those who were. */
interface Promised {
  gate: CampaignGate;
  worth: Worth;
  adapter_slug: string;
  /** Grants of the same group differ in player, place and amounts alone. */
  group: string;
}

/** How many members got their grant, and how many did not pass any more. */
export interface Released {
  released: number;
  skipped: number;
}

/** `onFound` gets the last member who was looked at; undefined: there was none. */
interface Which {
  limit: number;
  only?: string;
  after?: string;
  onFound?: (last: string | undefined) => void;
}

/**
 * Makes the grants of up to `limit` reserved members after `after`, or of `only` this one, which the sender sends from `due_at` on; the
 * transaction holds the campaign by `lockPart`. A member who does not pass the checks any more, whose place another
 * grant has taken since, or who was merged with a held-out one, is skipped, and the limits get back what was held. Members whose player another transaction
 * holds now are left for later; nobody is released while the tenant has paused its bonuses.
 */
export async function releaseMembers(
  tx: Tx,
  campaign: BonusCampaignRow,
  { now, due_at, onFound, ...which }: Which & { now: Date; due_at: Date },
): Promise<Released> {
  const config = await readTenantConfig(tx, campaign.tenant_id);
  if (bonusSettingsOf(config).paused) return { released: 0, skipped: 0 };
  // Awaited alone: everything that is read after it stays true, and nothing that was read before it is used.
  const found = await lockReserved(tx, campaign, which);
  onFound?.(found.at(-1)?.member_id);
  const grants = new Map<string, ReleasedGrant[]>();
  const changes: RowsChange[] = [];
  const freed: Held[] = [];
  let released = 0;
  const skip = ({ member_id, cost_base, assigned_at }: ReservedMember, code: string) => {
    changes.push({ player_ids: [member_id], status: 'skipped', code });
    freed.push({ assigned_at, base: cost_base, grants: 1 });
  };
  const present: (ReservedMember & { player: GrantPlayer })[] = [];
  const twins = await selectHeldOutTwins(
    tx,
    campaign,
    found.map(({ member_id }) => member_id),
  );
  for (const member of found) {
    const { player, is_merged, member_id } = member;
    const twin = twins.get(member_id);
    // The person is held out under another id: so is this one, and the effect counts the person once.
    if (twin !== undefined) skip(member, twin);
    else if (player !== null) present.push({ ...member, player });
    // The survivor has a row of its own.
    else skip(member, is_merged ? 'ALREADY_GRANTED' : 'CANCELLED');
  }
  const promised = await readPromised(tx, campaign, { config, now }, present);
  const known = await readKnown(tx, campaign, present, promised);
  for (const member of present) {
    const { gate, worth, adapter_slug, group } = promisedTo(promised, member);
    const { player, deposit_transaction_id } = member;
    const counts = known.counts.get(player.player_id) ?? NO_GRANTS;
    const is_member = (segment_id: string) => known.members.has(`${segment_id} ${player.player_id}`);
    const admitted = await admit(gate, { player, counts, is_member }, () => worth);
    if (admitted.code !== null) {
      skip(member, admitted.code);
      continue;
    }
    const { warnings } = admitted;
    const made = grantOf(campaign, gate, {
      player,
      counts,
      worth,
      adapter_slug,
      due_at,
      warnings,
      deposit_transaction_id,
    });
    const { grant_id } = made.grant;
    changes.push({ player_ids: [player.player_id], status: 'sent', grant_id });
    const of_group = grants.get(group);
    if (of_group === undefined) grants.set(group, [made]);
    else of_group.push(made);
    released += 1;
  }
  for (const of_group of grants.values()) await insertReleased(tx, of_group);
  if (changes.length > 0) await updateRows(tx, campaign, 'reserved', changes);
  // Last, because these rows are those of every grant of the template.
  if (freed.length > 0) await giveBack(tx, campaign, freed);
  return { released, skipped: freed.length };
}

/**
 * What was promised, by terms_id. The limits are those of the decision; what the template asks of a player, and the rules
 * of the licence, are as they are now.
 */
async function readPromised(
  tx: Tx,
  campaign: BonusCampaignRow,
  { config, now }: Pick<CampaignGate, 'config' | 'now'>,
  members: readonly ReservedMember[],
): Promise<Map<string, Promised>> {
  const promised = new Map<string, Promised>();
  const ids = [...new Set(members.map(({ terms_id }) => terms_id))];
  if (ids.length === 0) return promised;
  const { tenant_id, template_id } = campaign;
  const rows = await selectFrozenTerms(tx, campaign, ids);
  const [template] = await selectBonusTemplate(tx, campaign);
  if (template === undefined) throw new Error(`template ${template_id} of a campaign has vanished`);
  const rules = licenceRulesOf(config, now);
  const currencies = currenciesOf(rules);
  const values = new Map<string, CampaignGate['valueIn']>();
  for (const row of rows) {
    const { currency, exclusion_group, max_grants_per_player, grant_window_days, adapter_slug } = row;
    const worth = frozenWorth(row);
    const valueIn =
      values.get(currency) ?? (await valuesInCurrencies(tx, tenant_id, { currency, currencies, now }));
    values.set(currency, valueIn);
    const version = worth.terms.template_version;
    const limits = { version, exclusion_group, max_grants_per_player, grant_window_days };
    const gate = { campaign, template: { ...template, ...limits }, config, rules, valueIn, now };
    const group = JSON.stringify([row.terms, exclusion_group, adapter_slug, currency, row.fx, row.base_fx]);
    promised.set(row.terms_id, { gate, worth, adapter_slug, group });
  }
  return promised;
}

function promisedTo(promised: ReadonlyMap<string, Promised>, { terms_id }: ReservedMember): Promised {
  const found = promised.get(terms_id);
  if (found === undefined) throw new Error(`the terms ${terms_id} of reserved members have vanished`);
  return found;
}

/** What the players have been granted, and who is in the segment of the template. */
async function readKnown(
  tx: Tx,
  { tenant_id, project_id }: BonusCampaignRow,
  members: readonly ReservedMember[],
  promised: ReadonlyMap<string, Promised>,
): Promise<{ counts: Map<string, GrantCounts>; members: ReadonlySet<string> }> {
  const asked = members.map((member) => {
    const { gate } = promisedTo(promised, member);
    return { ref: { tenant_id, project_id, player_id: member.member_id }, ...gate };
  });
  if (asked.length === 0) return { counts: new Map(), members: new Set() };
  const counts = await countGrants(
    tx,
    asked.map(({ ref, template, now }) => countedFor(ref, template, now)),
  );
  const in_segment = await selectMembers(
    tx,
    asked.flatMap(({ ref, template: { eligible_segment_id: segment_id } }) =>
      segment_id === null ? [] : [{ ...ref, segment_id }],
    ),
  );
  const by_player = asked.map(({ ref }, place) => [ref.player_id, counts[place] ?? NO_GRANTS] as const);
  return { counts: new Map(by_player), members: in_segment };
}

/**
 * The id of the grant of a campaign to a member, always the same: when Postgres was restored to a moment before it was
 * made, the platform is asked with the key that it knows, and credits nothing again.
 */
function campaignGrantId(campaign_id: string, player_id: string): string {
  return v5(player_id, campaign_id);
}

function grantOf(
  { tenant_id, project_id, campaign_id }: BonusCampaignRow,
  { template, now }: CampaignGate,
  {
    player,
    counts,
    worth,
    adapter_slug,
    due_at,
    warnings,
    deposit_transaction_id,
  }: {
    player: GrantPlayer;
    counts: GrantCounts;
    worth: Worth;
    adapter_slug: string;
    due_at: Date;
    warnings: readonly LicenceWarning[];
    deposit_transaction_id: string | null;
  },
): ReleasedGrant {
  const grant = newGrantOf({
    project: { tenant_id, project_id },
    template,
    player,
    counts,
    worth,
    platform: { slug: adapter_slug },
    now,
    is_attempted: false,
    request: {
      grant_id: campaignGrantId(campaign_id, player.player_id),
      granted_by_kind: 'campaign',
      granted_by_id: campaign_id,
      granted_by_user: null,
      deposit_transaction_id,
    },
  });
  return { grant: { ...grant, next_attempt_at: due_at }, event: requestedOf(grant, warnings) };
}
