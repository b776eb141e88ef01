import { headOf, type PlayerEvent } from '../../ingest/events/envelope.ts';
import { tenantGateAt } from '../messaging/gate-at.ts';
import { variantChooser } from './variant-choice.ts';
import type { LogRecord } from '../../platform/event-log/port.ts';
import { isDataError } from '../../platform/postgres/retry.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import type { Platform } from '../../wiring/platform.ts';
import { selectLiveCampaign, selectLiveVariants } from './queries.ts';
import { notifyMessengers } from './send-queries.ts';
import {
  insertFirings,
  selectArmedCampaigns,
  selectPlayerZones,
  type ArmedCampaign,
} from './trigger-queries.ts';

type TriggerDeps = Pick<Platform, 'postgres' | 'clock' | 'logger'>;

/** An event that happened longer ago fires nothing. It is long enough for a device that was offline. */
const LONGEST_DELAY_MS = 24 * 3_600_000;

/**
 * Fires triggered campaigns by resolved events: one send row per event, if its player is in the segment at this time. A
 * repeated event fires once. Without triggered campaigns in the projects it costs one query.
 *
 * An event fires the campaigns that were started before it was received, if it happened within the last 24 hours. So an
 * event that a device kept for an hour fires, even if it happened just before the campaign was started. An imported
 * history fires nothing, and neither does an old event that is on the log again, however long the campaign has been
 * running.
 *
 * When the data of one campaign are refused, that is logged, and the batch's events do not fire it; the other campaigns
 * go on. Rejects with every other error, so that the batch is repeated.
 */
export async function fireCampaigns(deps: TriggerDeps, records: readonly LogRecord[]): Promise<void> {
  const { byTrigger, projects } = grouped(records);
  if (projects.length === 0) return;
  const read = new Map<string, PlayerEvent[]>();
  const oldest_ms = deps.clock.now_ms() - LONGEST_DELAY_MS;
  for (const campaign of await selectArmedCampaigns(deps.postgres.service, projects)) {
    const trigger = triggerOf({ ...campaign, event: campaign.trigger_event });
    const values = byTrigger.get(trigger);
    if (values === undefined) continue;
    const events = read.get(trigger) ?? values.map((value) => JSON.parse(value) as PlayerEvent);
    read.set(trigger, events);
    const firing = events.filter((event) => mayFire(event, campaign, oldest_ms));
    if (firing.length > 0) await fireOrSkip(deps, campaign, firing);
  }
}

/** The values of records by project and event name, and their projects. */
function grouped(records: readonly LogRecord[]): {
  byTrigger: Map<string, string[]>;
  projects: ProjectRef[];
} {
  const byTrigger = new Map<string, string[]>();
  const projects = new Map<string, ProjectRef>();
  for (const { value } of records) {
    const head = headOf(value);
    if (head === undefined) continue;
    const { tenant_id, project_id } = head;
    const trigger = triggerOf(head);
    const values = byTrigger.get(trigger);
    if (values === undefined) {
      byTrigger.set(trigger, [value]);
      projects.set(`${tenant_id} ${project_id}`, { tenant_id, project_id });
    } else values.push(value);
  }
  return { byTrigger, projects: [...projects.values()] };
}

/** The key of a trigger: an event name in a project. */
function triggerOf({ tenant_id, project_id, event }: ProjectRef & { event: string }): string {
  return `${tenant_id} ${project_id} ${event}`;
}

function mayFire(
  { occurred_at, received_at }: PlayerEvent,
  { started_at }: ArmedCampaign,
  oldest_ms: number,
): boolean {
  return received_at >= started_at.getTime() && occurred_at >= oldest_ms;
}

async function fireOrSkip(
  deps: TriggerDeps,
  campaign: ArmedCampaign,
  events: readonly PlayerEvent[],
): Promise<void> {
  try {
    await fire(deps, campaign, events);
  } catch (error) {
    const code = refusalOf(error);
    if (code === undefined) throw error;
    // The error itself is not logged: Postgres quotes rows in it.
    const { campaign_id } = campaign;
    deps.logger.error(
      { campaign_id, code, events: events.length },
      'a triggered campaign could not be fired',
    );
  }
}

/** The code of an error that the campaign's own data cause, in Postgres or in code; undefined for any other error. */
function refusalOf(error: unknown): string | undefined {
  if (isDataError(error)) return error.code;
  return error instanceof RangeError || error instanceof TypeError ? error.name : undefined;
}

async function fire(
  { postgres, clock }: TriggerDeps,
  campaign: ArmedCampaign,
  events: readonly PlayerEvent[],
): Promise<void> {
  const { campaign_id } = campaign;
  const now = new Date(clock.now_ms());
  await postgres.service.begin(async (tx) => {
    // A campaign that was cancelled meanwhile fires nothing.
    const current = await selectLiveCampaign(tx, campaign);
    if (current?.status !== 'sending') return;
    const variants = await selectLiveVariants(tx, campaign);
    const player_ids = [...new Set(events.map(({ player_id }) => player_id))];
    const gate = await tenantGateAt(tx, campaign, now, () => selectPlayerZones(tx, campaign, player_ids));
    const variantOf = variantChooser(campaign_id, variants);
    const firings = events.map(({ player_id, ingestion_id, event_index, properties }) => ({
      player_id,
      dedup_key: `${ingestion_id}:${event_index}`,
      properties,
      variant: variantOf(player_id),
    }));
    if ((await insertFirings(tx, campaign, firings, gate)) > 0) await notifyMessengers(tx, campaign);
  });
}
