import type { Tx } from '../../platform/postgres/port.ts';
import { selectSendTimeModel } from '../../players/scores/send-time/model-queries.ts';
import { readTenantConfig, reportingZoneOf } from '../../tenants/config/read.ts';
import type { Channel } from '../../tenants/config/channels.ts';
import type { ProjectRef } from '../../tenants/project-ref.ts';
import { gateRulesOf } from '../messaging/gate.ts';
import type { CampaignRow } from './queries.ts';
import type { SendTimeRules } from './send-time.ts';

/**
 * By what the hours of a campaign's members are chosen at `now`; undefined: all get their message at once, because the campaign
 * says so, or because the model of the project is not on. A campaign that has not begun is asked about as if it began now.
 */
export async function sendTimeRules(
  tx: Tx,
  project: ProjectRef & { channel: Channel },
  { send_time, started_at }: Pick<CampaignRow, 'send_time' | 'started_at'>,
  now: Date,
): Promise<SendTimeRules | undefined> {
  if (send_time === null) return undefined;
  const [model] = await selectSendTimeModel(tx, project);
  const parameters = model?.fit.parameters ?? null;
  if (model?.status !== 'on' || parameters === null) return undefined;
  const settings = await readTenantConfig(tx, project.tenant_id);
  const now_ms = now.getTime();
  return {
    parameters,
    zone: reportingZoneOf(settings),
    quiet_hours: gateRulesOf(settings, project.channel, now).quiet_hours,
    started_ms: started_at?.getTime() ?? now_ms,
    now_ms,
  };
}
