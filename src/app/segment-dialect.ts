import type { Config } from '../config.ts';
import { EndpointBulkhead, GROUPED_LIMITS } from '../http/endpoint-bulkhead.ts';
import { PlayerIds } from '../ingest/segment-dialect/player-ids.ts';
import type { DialectParts } from '../ingest/segment-dialect/identities.ts';
import { Identifier } from '../players/identity/identify.ts';
import { EXTERNAL_IDS_CHANNEL, findByExternalIds } from '../players/identity/queries.ts';
import type { Notifications } from '../platform/postgres/notifications.ts';
import type { Platform } from '../platform/platform.ts';
import { loadErasureKey } from '../protection/exclusions/erasure-key.ts';
import { PLAYER_DEPENDENTS } from './player-dependents.ts';

/** What the Segment dialect needs besides intake: the identify operation, and players by their external_ids. */
export async function openDialect(
  config: Config,
  platform: Platform,
  notifications: Notifications,
): Promise<DialectParts> {
  const { postgres, clock, metrics } = platform;
  const identifier = new Identifier({
    ...platform,
    dependents: PLAYER_DEPENDENTS,
    erasure_key: await loadErasureKey(config),
  });
  const playerIds = new PlayerIds({
    find: async (project, external_ids) => {
      const rows = await postgres.readAsTenant(project.tenant_id, (tx) =>
        findByExternalIds(tx, project, external_ids),
      );
      return new Map(rows.map(({ external_id, player_id }) => [external_id, player_id]));
    },
    clock,
    metrics,
  });
  await notifications.on(
    EXTERNAL_IDS_CHANNEL,
    (project_id) => playerIds.forget(project_id),
    () => playerIds.forgetAll(),
  );
  return {
    playerIds,
    identify: (key, given, at_ms) => identifier.identifyChecked(key, given, at_ms),
    bulkhead: new EndpointBulkhead(GROUPED_LIMITS),
    publicHost: publicHostOf(config),
  };
}

function publicHostOf({ public_ingest_url }: Config): DialectParts['publicHost'] {
  if (public_ingest_url === undefined) return undefined;
  const { protocol, host } = new URL(public_ingest_url);
  return { protocol: protocol === 'http:' ? 'http' : 'https', host };
}
