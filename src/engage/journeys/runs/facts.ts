import { groupBy } from '../../../platform/group-by.ts';
import type { Tx } from '../../../platform/postgres/port.ts';
import { selectGrantableOf } from '../../../bonuses/templates/queries.ts';
import { NO_AMOUNTS, readAmounts } from './amounts.ts';
import type { LoadedVersion } from './definitions.ts';
import {
  selectDefaultZones,
  selectProvidersOf,
  selectRunPlayers,
  selectTemplatesOf,
  type RunPlayer,
} from './facts-queries.ts';
import { versionKey, type RunningRow } from './run-row.ts';
import type { Facts } from './shapes.ts';

/** The zone of players where neither they nor their tenant have one. */
const DEFAULT_ZONE = 'UTC';

const NONE: ReadonlySet<string> = new Set();

/** The answers to the questions of a run, as {@link Facts.conditions} has them. */
export type Answers = Facts['conditions'];
export const NO_ANSWERS: Answers = new Map();

/** Whose answers they are: those of a run on another version answer other questions of the same nodes. */
export function answerKey({ run_id, version }: Pick<RunningRow, 'run_id' | 'version'>): string {
  return `${run_id} ${version}`;
}

/**
 * Reads what the runs of a batch need to know now, with one query per kind; returns the facts of one run and its answers.
 */
export async function readFacts(
  tx: Tx,
  runs: readonly RunningRow[],
  versions: ReadonlyMap<string, LoadedVersion>,
  now_ms: number,
): Promise<(run: RunningRow, answers: Answers) => Facts> {
  const named = namedBy(runs, versions);
  const asking = runs.filter((run) => versions.get(versionKey(run))?.uses?.needs_players === true);
  const [players, templates, providers, zones, bonus_templates, amounts] = await Promise.all([
    selectRunPlayers(tx, asking),
    selectTemplatesOf(tx, named.templates),
    selectProvidersOf(tx, named.providers),
    selectDefaultZones(tx, [...new Set(runs.map(({ tenant_id }) => tenant_id))]),
    selectGrantableOf(tx, named.bonus_templates),
    readAmounts(tx, runs, versions, now_ms),
  ]);
  const player_of = new Map(players.map((player) => [player.player_id, player]));
  const zone_of = new Map(zones.map(({ tenant_id, timezone }) => [tenant_id, timezone]));
  const templates_of = groupBy(templates, ({ project_id }) => project_id);
  const providers_of = groupBy(providers, ({ tenant_id }) => tenant_id);
  const templateFacts = new Map(
    [...templates_of].map(([project_id, rows]) => [
      project_id,
      new Map(rows.map(({ template_id, is_active }) => [template_id, { is_active }])),
    ]),
  );
  const providerFacts = new Map(
    [...providers_of].map(([tenant_id, rows]) => [
      tenant_id,
      new Set(rows.map(({ provider_id }) => provider_id)),
    ]),
  );
  const bonus_of = groupBy(bonus_templates, ({ project_id }) => project_id);
  const bonusFacts = new Map(
    [...bonus_of].map(([project_id, rows]) => [
      project_id,
      {
        all: new Set(rows.map(({ template_id }) => template_id)),
        cashback: new Set(
          rows.filter(({ is_cashback }) => is_cashback).map(({ template_id }) => template_id),
        ),
      },
    ]),
  );
  const shared = new Map<string, Facts>();
  return (run, answers) => {
    const { tenant_id, project_id, player_id, run_id } = run;
    const player = player_of.get(player_id);
    // Most runs of a batch know the same: what is not of a player is made once per project.
    const key = `${tenant_id} ${project_id}`;
    const own_amounts = amounts.get(run_id);
    const is_shared = player === undefined && answers === NO_ANSWERS && own_amounts === undefined;
    const same = is_shared ? shared.get(key) : undefined;
    if (same !== undefined) return same;
    const facts = {
      effects_barred: barredCode(player),
      timezone: player?.timezone ?? zone_of.get(tenant_id) ?? DEFAULT_ZONE,
      player: player === undefined ? {} : playerFacts(player),
      templates: templateFacts.get(project_id) ?? new Map(),
      providers: providerFacts.get(tenant_id) ?? new Set(),
      bonus_templates: bonusFacts.get(project_id)?.all ?? NONE,
      cashback_templates: bonusFacts.get(project_id)?.cashback ?? NONE,
      conditions: answers,
      amounts: own_amounts ?? NO_AMOUNTS,
    };
    if (is_shared) shared.set(key, facts);
    return facts;
  };
}

/** The same facts about another state of the player; the zone stays where the player has none. */
export function factsAbout(player: RunPlayer, facts: Facts): Facts {
  return {
    ...facts,
    effects_barred: barredCode(player),
    timezone: player.timezone ?? facts.timezone,
    player: playerFacts(player),
  };
}

/** Why nothing may be done to the player, in the words of the gate for messages; undefined: it may. */
export function barredCode(player: RunPlayer | undefined): string | undefined {
  if (player === undefined || player.is_deleted) return 'SKIPPED_NO_RECIPIENT';
  if (player.self_excluded || player.status === 'self_excluded') return 'SKIPPED_SELF_EXCLUDED';
  return player.status === 'banned' ? 'SKIPPED_BANNED' : undefined;
}

/** The player as references read it: `player.<field>`, `player.traits.<attribute>`. */
function playerFacts({ custom_attributes, player_id, is_deleted: _is_deleted, ...fields }: RunPlayer) {
  return { id: player_id, player_id, ...fields, traits: custom_attributes, custom_attributes };
}

/** The templates, providers and bonus templates that the versions of the runs name, each once. */
function namedBy(runs: readonly RunningRow[], versions: ReadonlyMap<string, LoadedVersion>) {
  const templates = new Map<string, { tenant_id: string; project_id: string; id: string }>();
  const providers = new Map<string, { tenant_id: string; id: string }>();
  const bonus_templates = new Map<string, { tenant_id: string; project_id: string; template_id: string }>();
  const seen = new Set<string>();
  for (const run of runs) {
    const key = versionKey(run);
    const version = versions.get(key);
    if (seen.has(key) || version?.definition === undefined) continue;
    seen.add(key);
    const { tenant_id, project_id } = run;
    for (const id of version.uses.template_ids)
      templates.set(`${project_id} ${id}`, { tenant_id, project_id, id });
    for (const template_id of version.uses.bonus_template_ids)
      bonus_templates.set(`${project_id} ${template_id}`, { tenant_id, project_id, template_id });
    for (const id of version.uses.provider_ids) providers.set(`${tenant_id} ${id}`, { tenant_id, id });
  }
  return {
    templates: [...templates.values()],
    providers: [...providers.values()],
    bonus_templates: [...bonus_templates.values()],
  };
}
