import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import { PLAYER_DEPENDENTS } from '../../../src/app/player-dependents.ts';
import { releaseMembers } from '../../../src/bonuses/campaigns/release-members.ts';
import { insertBonusCampaign } from '../../../src/bonuses/campaigns/queries.ts';
import { reserveMembers } from '../../../src/bonuses/campaigns/reserve.ts';
import { loadIssueTerms } from '../../../src/bonuses/campaigns/terms-of-issue.ts';
import { lockPart } from '../../../src/bonuses/campaigns/work-queries.ts';
import { insertRows } from '../../../src/engage/campaigns/fan-out-queries.ts';
import { drawHoldout, variantChooser } from '../../../src/engage/campaigns/fan-out.ts';
import { selectLiveCampaign, selectLiveVariants } from '../../../src/engage/campaigns/queries.ts';
import { roundOf } from '../../../src/engage/experiments/global.ts';
import { saveGlobalHoldout } from '../../../src/engage/experiments/global-queries.ts';
import { readJourney } from '../../../src/engage/journeys/graph/read-journey.ts';
import { selectVersion } from '../../../src/engage/journeys/graph/version-queries.ts';
import { enter } from '../../../src/engage/journeys/runs/entry.ts';
import { tenantGateAt } from '../../../src/engage/messaging/gate.ts';
import { mergePlayer } from '../../../src/players/identity/merge-queries.ts';
import type { Tx } from '../../../src/platform/postgres/port.ts';
import { retryConflicts } from '../../../src/platform/postgres/retry.ts';
import { GIFT } from '../../bonuses/grants/grants-fixture.ts';
import { openCampaignFixture, type CampaignFixture } from '../campaigns/campaign-fixture.ts';

/** Players of a sequence. */
export const PLAYERS = 6;
const OWN_PERCENT = 30;
const PROJECT_PERCENT = 10;
const BEGIN = new Date('2026-01-10T12:00:00Z');
const ROUND_SET = new Date('2026-01-01T00:00:00Z');
const MINUTE_MS = 60_000;

/** What happens to players, by their places; `is_killed`: the process ends before the commit, and does it again. */
export type Operation =
  | { kind: 'send' | 'enter' | 'reserve' | 'deliver' | 'release'; players: number[]; is_killed: boolean }
  | { kind: 'merge'; from: number; into: number; is_killed: boolean }
  | { kind: 'exclude'; player: number }
  | { kind: 'round' };

/** How many of whom were held out. */
export interface Share {
  what: string;
  drawn: number;
  of: number;
  probability: number;
}

type Arm = 'project' | 'experiment' | 'treated';
const EXPERIMENTS = ['campaign', 'journey', 'bonus_campaign'] as const;
type Experiment = (typeof EXPERIMENTS)[number];

class Killed extends Error {}

/** One sequence: its players, and what is known of them without the service. */
interface Play {
  ids: string[];
  /** Of each player the one that it was merged into. */
  survivors: Map<string, string>;
  /** Into whom another was merged. */
  merged: Set<string>;
  excluded: Set<string>;
  /** The first arm of each player. */
  arms: Map<string, Arm>;
  now: Date;
  complaints: string[];
}

/** A project with a campaign, a journey and a bonus campaign, of which each sequence has players of its own. */
export class HeldOutWorld {
  readonly #campaigns: CampaignFixture;
  readonly #ids: Record<Experiment, string>;
  readonly #counts = new Map<string, { drawn: number; of: number }>();

  private constructor(campaigns: CampaignFixture, ids: Record<Experiment, string>) {
    this.#campaigns = campaigns;
    this.#ids = ids;
  }

  static async open(): Promise<HeldOutWorld> {
    const campaigns = await openCampaignFixture();
    const { tenant, segment_id, provider_id, template_id, fixture } = campaigns;
    const sql = fixture.platform.postgres.service;
    await sql`update templates set status = 'active' where tenant_id = ${tenant.tenant_id}`;
    const made = async (path: string, body: unknown) => {
      const answer = await campaigns.api('POST', path, body);
      expect(answer.status, answer.text).toBe(201);
      return String(answer.body.data['id']);
    };
    const campaign = await campaigns.make({ holdout_percent: OWN_PERCENT });
    const mail = { id: 'mail', type: 'send_message', template_id, provider_id, next: 'end' };
    const journey = await made('/v1/journeys', {
      name: 'J',
      trigger: { kind: 'event', event: 'deposit_confirmed' },
      graph: { start_node_id: 'mail', nodes: [mail, { id: 'end', type: 'end' }] },
      settings: { holdout_percent: OWN_PERCENT, re_entry: { mode: 'once' } },
    });
    const activated = await campaigns.api('POST', `/v1/journeys/${journey}/activate`);
    expect(activated.status, activated.text).toBe(200);
    const bonus_campaign = randomUUID();
    const { tenant_id, project_id } = tenant;
    const plan = {
      name: 'B',
      template_id: await made('/v1/bonus-templates', { name: 'gift', ...GIFT }),
      segment_id,
      deposit_amount: null,
      deposit_from: null,
      currency_override: null,
      schedule_at: null,
      max_liability: null,
      max_grants: null,
      rate_per_second: 5,
      daily_budget_base: null,
      pace: 'even',
      qualifying_product: null,
      holdout_percent: OWN_PERCENT,
      advertising: 'direct',
      status: 'issuing',
    } as const;
    await insertBonusCampaign(sql, { tenant_id, project_id, campaign_id: bonus_campaign }, plan, BEGIN);
    await sql`update bonus_campaigns set is_filled = true, issued_at = now() where campaign_id = ${bonus_campaign}`;
    await sql`
      insert into bonus_campaign_budgets (tenant_id, project_id, campaign_id, released_to)
      values (${tenant_id}, ${project_id}, ${bonus_campaign}, now())`;
    await sql.begin((tx) => saveGlobalHoldout(tx, tenant, PROJECT_PERCENT, ROUND_SET));
    return new HeldOutWorld(campaigns, { campaign, journey, bonus_campaign });
  }

  async close(): Promise<void> {
    const { fixture, tenant } = this.#campaigns;
    // No processor of another file finds the campaign.
    await fixture.platform.postgres.service`
      update bonus_campaigns set status = 'cancelled', finished_at = now() where tenant_id = ${tenant.tenant_id}`;
    await fixture.close();
  }

  /** How many were held out of all sequences together. */
  shares(): Share[] {
    return [...this.#counts].map(([what, { drawn, of }]) => {
      const probability = (what.startsWith('project') ? PROJECT_PERCENT : OWN_PERCENT) / 100;
      return { what, drawn, of, probability };
    });
  }

  /** Plays a sequence to its end; returns what is wrong. */
  async play(operations: readonly Operation[]): Promise<string[]> {
    const play: Play = {
      ids: await this.#newPlayers(),
      survivors: new Map(),
      merged: new Set(),
      excluded: new Set(),
      arms: new Map(),
      now: BEGIN,
      complaints: [],
    };
    for (const operation of operations) {
      play.now = new Date(play.now.getTime() + MINUTE_MS);
      await this.#do(play, operation);
    }
    // What waits is done in the end.
    const players = play.ids.map((_, place) => place);
    for (const kind of ['reserve', 'release', 'deliver'] as const)
      await this.#do(play, { kind, players, is_killed: false });
    await this.#checkArms(play);
    return play.complaints;
  }

  async #do(play: Play, operation: Operation): Promise<void> {
    switch (operation.kind) {
      case 'round':
        play.now = new Date(play.now.getTime() + 91 * 86_400_000);
        return;
      case 'exclude': {
        const id = survivorOf(play, play.ids[operation.player] ?? '');
        play.excluded.add(id);
        const { service } = this.#campaigns.fixture.platform.postgres;
        await service`update players set self_excluded = true, status = 'self_excluded' where player_id = ${id}`;
        return;
      }
      case 'merge': {
        const [from, into] = [operation.from, operation.into].map((at) =>
          survivorOf(play, play.ids[at] ?? ''),
        );
        if (from === undefined || into === undefined || from === into) return;
        await this.#commit(operation.is_killed, (tx) =>
          mergePlayer(
            tx,
            { ...this.#project(), player_id: from, into_player_id: into },
            play.now,
            PLAYER_DEPENDENTS,
          ),
        );
        play.survivors.set(from, into);
        play.merged.add(into);
        if (play.excluded.has(from)) play.excluded.add(into);
        return;
      }
      case 'deliver':
        await this.#deliver(play, idsOf(play, operation), operation.is_killed);
        return;
      case 'send':
      case 'enter':
      case 'reserve':
      case 'release': {
        const kind = operation.kind;
        const ids = idsOf(play, operation);
        await this.#commit(operation.is_killed, (tx) => this.#act(tx, play, kind, ids));
        await this.#noteArms(play, kind, ids);
      }
    }
  }

  #act(tx: Tx, play: Play, kind: 'send' | 'enter' | 'reserve' | 'release', ids: readonly string[]) {
    switch (kind) {
      case 'send':
        return this.#send(tx, play, ids);
      case 'enter':
        return this.#enter(tx, play, ids);
      case 'reserve':
        return this.#reserve(tx, play, ids);
      case 'release':
        return this.#release(tx, play, ids);
    }
  }

  #project() {
    const { tenant_id, project_id } = this.#campaigns.tenant;
    return { tenant_id, project_id };
  }

  /** A killed process leaves nothing of its transaction; the next one does it again. */
  async #commit(is_killed: boolean, work: (tx: Tx) => Promise<unknown>): Promise<void> {
    const { service } = this.#campaigns.fixture.platform.postgres;
    if (is_killed) {
      const killed = service.begin(async (tx) => {
        await work(tx);
        throw new Killed();
      });
      await killed.catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error;
      });
    }
    await retryConflicts(() => service.begin(work));
  }

  async #newPlayers(): Promise<string[]> {
    const { service } = this.#campaigns.fixture.platform.postgres;
    const ids = Array.from({ length: PLAYERS }, () => randomUUID());
    const rows = ids.map((player_id) => ({
      ...this.#project(),
      player_id,
      email: `${player_id}@example.com`,
      default_currency_code: 'EUR',
      created_at: BEGIN,
      updated_at: BEGIN,
    }));
    const at = { first_seen_at: BEGIN, listed_at: BEGIN, updated_at: BEGIN };
    const totals = ids.map((player_id) => ({ ...this.#project(), player_id, ...at }));
    await service`insert into players ${service(rows)}`;
    await service`
      insert into player_totals ${service(totals)} on conflict do nothing`;
    const members = ids.map((player_id) => ({
      ...this.#project(),
      campaign_id: this.#ids.bonus_campaign,
      player_id,
    }));
    await service`insert into bonus_campaign_rows ${service(members)}`;
    return ids;
  }

  async #send(tx: Tx, { now }: Play, ids: readonly string[]): Promise<void> {
    const ref = { ...this.#project(), campaign_id: this.#ids.campaign };
    const campaign = await selectLiveCampaign(tx, ref);
    if (campaign === undefined) throw new Error('no campaign');
    const variantOf = variantChooser(ref.campaign_id, await selectLiveVariants(tx, ref));
    const { channel, segment_id, provider_id, holdout_percent } = campaign;
    const audience = { ...ref, segment_id, channel };
    const gate = await tenantGateAt(tx, audience, now, () => ids.map(() => null));
    const choices = new Map(ids.map((id) => [id, variantOf(id)]));
    const holdoutOf = await drawHoldout(tx, { ...ref, holdout_percent }, now);
    await insertRows(tx, { audience, provider_id, choices, holdoutOf }, gate);
  }

  async #enter(tx: Tx, { now }: Play, ids: readonly string[]): Promise<void> {
    const ref = { ...this.#project(), journey_id: this.#ids.journey };
    const [version] = await selectVersion(tx, ref, 1);
    if (version === undefined) throw new Error('no version');
    const entrants = ids.map((player_id) => ({
      player_id,
      trigger_key: randomUUID(),
      trigger: { kind: 'event' as const, event: 'deposit_confirmed', ingestion_id: randomUUID() },
      context: { trigger_payload: {} },
    }));
    await enter(tx, { version: { ...ref, version: 1 }, definition: readJourney(version), now }, entrants);
  }

  async #reserve(tx: Tx, { now }: Play, ids: readonly string[]): Promise<void> {
    const locked = await lockPart(tx, this.#bonusRef(), 'decisions', true);
    if (locked === undefined) throw new Error('the bonus campaign is not being issued');
    const pending = await this.#rowsOf(tx, ids, 'pending');
    if (pending.length === 0) return;
    const terms = await loadIssueTerms(tx, locked, now);
    await reserveMembers(tx, terms, pending, { facts: new Map(), platform: { slug: 'sandbox' } });
  }

  /** Grants are made: to nobody who is held out under another id. */
  async #release(tx: Tx, play: Play, ids: readonly string[]): Promise<void> {
    const { now } = play;
    const before = await this.#members(tx, play);
    const held_out = new Set(
      before.filter(({ code }) => code?.endsWith('HOLDOUT')).map(({ person }) => person),
    );
    const sent = new Set(before.filter(({ status }) => status === 'sent').map(({ player_id }) => player_id));
    const locked = await lockPart(tx, this.#bonusRef(), 'release', true);
    if (locked === undefined) throw new Error('the bonus campaign is not being issued');
    for (const only of await this.#rowsOf(tx, ids, 'reserved'))
      await releaseMembers(tx, locked, { limit: 1, only, now, due_at: now });
    for (const { player_id, person, status } of await this.#members(tx, play))
      if (status === 'sent' && !sent.has(player_id) && held_out.has(person))
        play.complaints.push(`${person} is held out and is granted a bonus`);
  }

  /** The rows of the bonus campaign of all players, with the persons that they are now. */
  async #members(tx: Tx, play: Play) {
    const rows = await tx<{ player_id: string; status: string; code: string | null }[]>`
      select player_id, status, code from bonus_campaign_rows
      where campaign_id = ${this.#ids.bonus_campaign} and player_id in ${tx(play.ids)}`;
    return rows.map((row) => ({ ...row, person: survivorOf(play, row.player_id) }));
  }

  #bonusRef = () => ({ ...this.#project(), campaign_id: this.#ids.bonus_campaign });

  /** The members who are still `status`, with those who were merged into them. */
  async #rowsOf(tx: Tx, ids: readonly string[], status: string): Promise<string[]> {
    const rows = await tx<{ player_id: string }[]>`
      select r.player_id from bonus_campaign_rows r
      where r.campaign_id = ${this.#ids.bonus_campaign} and r.status = ${status}
        and (r.player_id in ${tx(ids)} or r.player_id in (
          select m.player_id from player_merges m where m.into_player_id in ${tx(ids)}))
      order by r.player_id for update`;
    return rows.map(({ player_id }) => player_id);
  }

  /** Messages go out, and runs go on: of nobody who is held out. */
  async #deliver(play: Play, ids: readonly string[], is_killed: boolean): Promise<void> {
    const { campaign, journey } = this.#ids;
    await this.#commit(is_killed, async (tx) => {
      const reached = await tx<{ player_id: string }[]>`
        update message_sends set status = 'sent', sent_at = ${play.now}, counted_at = ${play.now}
        where campaign_id = ${campaign} and player_id in ${tx(ids)} and status = 'queued'
        returning player_id`;
      const began = roundOf({ changes: 1, changed_at: ROUND_SET }, play.now).begins_at;
      const [sent, running] = await Promise.all([
        tx<{ player_id: string }[]>`
          select player_id from message_sends
          where campaign_id = ${campaign} and player_id in ${tx([...ids, ...reached.map((one) => one.player_id)])}
            and error_code in ('SKIPPED_HOLDOUT', 'SKIPPED_GLOBAL_HOLDOUT')`,
        tx<{ player_id: string }[]>`
          select r.player_id from journey_runs r
          where r.journey_id = ${journey} and r.player_id in ${tx(ids)} and r.status = 'running' and exists (
            select from journey_runs h
            where h.journey_id = r.journey_id and h.player_id = r.player_id and h.outcome = 'held_out'
              and (not h.is_held_out_globally or h.started_at >= ${began}))`,
      ]);
      const held_out = new Set(sent.map(({ player_id }) => player_id));
      for (const { player_id } of reached)
        if (held_out.has(player_id)) play.complaints.push(`a message reaches ${player_id}, who is held out`);
      for (const { player_id } of running)
        play.complaints.push(`a run of ${player_id} goes on, who is held out`);
    });
  }

  /** Notes the arm of each player who was drawn just now, and whether it is the one of before. */
  async #noteArms(
    play: Play,
    kind: 'send' | 'enter' | 'reserve' | 'release',
    ids: readonly string[],
  ): Promise<void> {
    if (kind === 'release') return;
    const { service: sql } = this.#campaigns.fixture.platform.postgres;
    const experiment = ({ send: 'campaign', enter: 'journey', reserve: 'bonus_campaign' } as const)[kind];
    const id = this.#ids[experiment];
    const found = {
      campaign: () => sql<{ player_id: string; arm: Arm }[]>`
        select player_id, case error_code when 'SKIPPED_HOLDOUT' then 'experiment'
          when 'SKIPPED_GLOBAL_HOLDOUT' then 'project' else 'treated' end as arm
        from message_sends where campaign_id = ${id} and player_id in ${sql(ids)} and assigned_at is not null`,
      journey: () => sql<{ player_id: string; arm: Arm }[]>`
        select player_id, case when is_held_out_globally then 'project' when outcome = 'held_out' then 'experiment'
          else 'treated' end as arm
        from journey_runs where journey_id = ${id} and player_id in ${sql(ids)} order by started_at`,
      bonus_campaign: () => sql<{ player_id: string; arm: Arm }[]>`
        select player_id, case code when 'HOLDOUT' then 'experiment' when 'GLOBAL_HOLDOUT' then 'project'
          else 'treated' end as arm
        from bonus_campaign_rows where campaign_id = ${id} and player_id in ${sql(ids)} and assigned_at is not null`,
    };
    const own = new Map<string, Set<Arm>>();
    for (const { player_id, arm } of await found[experiment]()) {
      // A survivor has the rows of two players.
      if (play.merged.has(player_id)) continue;
      own.set(player_id, (own.get(player_id) ?? new Set()).add(arm));
    }
    for (const [player_id, arms] of own) {
      const single = [...arms].filter((arm) => arm !== 'project');
      if (single.length > 1) play.complaints.push(`${player_id} is in two arms of the ${experiment}`);
      if (
        play.excluded.has(player_id) &&
        !play.arms.has(`${experiment} ${player_id}`) &&
        experiment !== 'journey'
      )
        play.complaints.push(`${player_id} was drawn into the ${experiment} behind the gate`);
      this.#count(play, experiment, player_id, [...arms]);
    }
  }

  #count(play: Play, experiment: Experiment, player_id: string, arms: readonly Arm[]): void {
    const key = `${experiment} ${player_id}`;
    const [first] = arms;
    if (first === undefined || play.arms.has(key)) return;
    play.arms.set(key, first);
    const add = (what: string, is_drawn: boolean) => {
      const count = this.#counts.get(what) ?? { drawn: 0, of: 0 };
      this.#counts.set(what, { drawn: count.drawn + Number(is_drawn), of: count.of + 1 });
    };
    add(`project of ${experiment}`, first === 'project');
    if (first !== 'project') add(experiment, first === 'experiment');
  }

  /** After all is done: nobody waits, and of a person who was granted nothing before, every id is in the same arm. */
  async #checkArms(play: Play): Promise<void> {
    const { service: sql } = this.#campaigns.fixture.platform.postgres;
    const rows = await sql.begin((tx) => this.#members(tx, play));
    for (const { person, status } of rows)
      if (status === 'reserved' || status === 'pending') play.complaints.push(`${person} is still ${status}`);
    for (const person of new Set(rows.map((row) => row.person))) {
      const sent = rows.filter((row) => row.person === person && row.status === 'sent');
      if (sent.length > 1 && !play.merged.has(person)) play.complaints.push(`${person} was granted twice`);
    }
  }
}

function survivorOf({ survivors }: Pick<Play, 'survivors'>, id: string): string {
  const next = survivors.get(id);
  return next === undefined ? id : survivorOf({ survivors }, next);
}

/** The players of an operation, as they are after merges. */
function idsOf(play: Play, { players }: { players: readonly number[] }): string[] {
  return [...new Set(players.map((at) => survivorOf(play, play.ids[at] ?? '')))];
}
