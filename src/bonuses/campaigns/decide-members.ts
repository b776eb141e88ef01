import type { Tx } from '../../platform/postgres/port.ts';
import { asksForMoney } from '../../tenants/licence/effective.ts';
import { countedFor, NO_GRANTS } from '../grants/issue.ts';
import { countGrants, type GrantCounts } from '../grants/issue-queries.ts';
import type { Worth } from '../grants/worth.ts';
import { admit } from './admit.ts';
import { selectMemberGroups, type MemberGroup } from './member-queries.ts';
import type { DrawnMember } from './room.ts';
import { Pricer, type IssueTerms, type MemberFacts } from './terms-of-issue.ts';

/** What members are to get, or why nothing. */
export type Decision =
  | {
      kind: 'grant';
      /** Of equal facts: each would get the same, but those who are held out. */
      members: readonly DrawnMember[];
      worth: Worth;
      deposit_transaction_id: string | null;
    }
  | { kind: 'skip'; player_ids: readonly string[]; code: string };

/**
 * Decides about members in few statements: who passes the gate and has a place, and what each bonus is worth. Budgets come
 * after it. Members with equal facts are decided about at once. Nobody is locked: a member who passes is looked at
 * again under the lock of the player before there is a grant.
 */
export async function decideMembers(
  tx: Tx,
  issue: IssueTerms,
  player_ids: readonly string[],
  facts: ReadonlyMap<string, MemberFacts>,
): Promise<Decision[]> {
  const { campaign, template, rules, now } = issue;
  const { tenant_id, project_id } = campaign;
  const { eligible_segment_id: segment_id } = template;
  const groups = await selectMemberGroups(tx, campaign, player_ids, {
    segment_id,
    has_rules: rules.length > 0,
    asks_for_money: asksForMoney(rules),
  });
  const counted = groups.filter(({ has_grants }) => has_grants).flatMap((group) => group.player_ids);
  const found = await countGrants(
    tx,
    counted.map((player_id) => countedFor({ tenant_id, project_id, player_id }, template, now)),
  );
  const counts = new Map(counted.map((player_id, place) => [player_id, found[place] ?? NO_GRANTS]));
  const pricer = new Pricer(issue);
  const decisions: Decision[] = [];
  for (const group of groups) {
    for (const ids of alike(group, facts.size > 0)) {
      const [first = ''] = ids;
      const known = { counts: counts.get(first) ?? NO_GRANTS, facts: facts.get(first) ?? {} };
      decisions.push(await decide(issue, pricer, group, ids, known));
    }
  }
  return decisions;
}

/** The members of a group in parts with equal facts. */
function alike({ player_ids, has_grants }: MemberGroup, has_facts: boolean): (readonly string[])[] {
  return has_grants || has_facts ? player_ids.map((player_id) => [player_id]) : [player_ids];
}

async function decide(
  issue: IssueTerms,
  pricer: Pricer,
  { player, is_member }: MemberGroup,
  player_ids: readonly string[],
  { counts, facts }: { counts: GrantCounts; facts: MemberFacts },
): Promise<Decision> {
  if (player === null) return { kind: 'skip', player_ids, code: 'CANCELLED' };
  const candidate = { player, counts, is_member: () => is_member };
  const admitted = await admit(issue, candidate, () => pricer.worth(facts));
  if (admitted.code !== null) return { kind: 'skip', player_ids, code: admitted.code };
  const { deposit_transaction_id = null } = facts;
  const members = player_ids.map((player_id) => ({ player_id, by: issue.heldOutBy(player_id) }));
  return { kind: 'grant', members, worth: admitted.worth, deposit_transaction_id };
}
