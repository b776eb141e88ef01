import { expect } from 'vitest';
import { mirrorBlock } from '../../processors/player-mirror/index.ts';
import { ROLES } from '../../src/config.ts';
import { changeMemberships } from '../../src/segments/membership-queries.ts';
import { publishMembershipChanges } from '../../src/segments/publish-changes.ts';
import type { ProjectRef } from '../../src/tenants/project-ref.ts';
import type { Platform } from '../../src/wiring/platform.ts';
import { eventually, startTestService, type TestService } from '../engines/service.ts';
import { openTestPlatform } from '../engines/wiring.ts';
import { segmentClient, type SegmentClient } from './segment-client.ts';

export const within = (segment_id: string, op = 'in') => ({ type: 'segment', segment_id, op });
export const hasMark = (mark: string) => ({
  type: 'trait',
  field: 'custom_attributes.marks',
  op: 'contains',
  value: mark,
});

/** What a preview found, and whether it read the members of segments as bitmaps or as ids. */
export interface Previewed {
  size: number;
  sample: string[];
  by: 'bitmaps' | 'ids' | 'both' | 'neither';
}

/** A service whose players and changes of members are copied only when a test says so. */
export interface BitmapFixture {
  service: TestService;
  client: SegmentClient;
  platform: Platform;
  project: ProjectRef;
  /** Gives a player these marks; returns its id. */
  mark: (external_id: string, ...marks: string[]) => Promise<string>;
  mirrorAll: (mirror?: Platform) => Promise<void>;
  publish: () => Promise<void>;
  /** Refreshes the segment, and publishes what has changed. */
  refresh: (segment_id: string) => Promise<void>;
  preview: (operator: string, conditions: object[]) => Promise<Previewed>;
  /** Waits until the members of the segments are bitmaps; what could not be made is not tried again at once. */
  byBitmaps: (...segment_ids: string[]) => Promise<unknown>;
  /** Changes members, as an evaluation does. */
  change: (segment_id: string, entering: string[], leaving: string[]) => Promise<void>;
}

export async function openBitmapFixture(): Promise<BitmapFixture> {
  const driven = ['segment-refresh', 'scheduler', 'player-mirror'];
  const service = await startTestService(
    { roles: new Set(ROLES.filter((role) => !driven.includes(role))) },
    // The tests begin epochs, so they need a server of their own.
    (config) => openTestPlatform(config, { own_postgres: true }),
  );
  const { platform } = service;
  const project = { tenant_id: service.tenant_id, project_id: service.project_id };
  const client = segmentClient(service);
  const fixture: BitmapFixture = {
    service,
    client,
    platform,
    project,
    mark: (external_id, ...marks) => client.identify({ marks }, { external_id }),
    async mirrorAll(mirror = platform) {
      while ((await mirrorBlock(mirror)) > 0);
    },
    async publish() {
      while (await publishMembershipChanges(platform));
    },
    async refresh(segment_id) {
      const { status, error } = await client.api('POST', `/v1/segments/${segment_id}/refresh`);
      expect(status, JSON.stringify(error)).toBe(200);
      await fixture.publish();
    },
    async preview(operator, conditions) {
      const definition = { operator, conditions };
      const { status, data, error } = await client.api('POST', '/v1/segments/preview', { definition });
      expect(status, JSON.stringify(error)).toBe(200);
      const sql = String(data['compiled_query']);
      const [bitmaps, ids] = [sql.includes('segment_bitmaps'), sql.includes('segment_members')];
      const by = bitmaps ? (ids ? 'both' : 'bitmaps') : ids ? 'ids' : 'neither';
      return { size: Number(data['estimated_size']), sample: data['sample'] as string[], by };
    },
    byBitmaps: (...segment_ids) =>
      eventually('the members are bitmaps', async () => {
        const conditions = segment_ids.map((segment_id) => within(segment_id));
        return (await fixture.preview('OR', conditions)).by === 'bitmaps' || undefined;
      }),
    async change(segment_id, entering, leaving) {
      const of = (player_ids: string[]) => player_ids.map((player_id) => ({ segment_id, player_id }));
      await platform.postgres.service.begin((tx) =>
        changeMemberships(tx, project, of(entering), of(leaving), new Date()),
      );
    },
  };
  return fixture;
}

/** The platform, with something that happens around statements of ClickHouse. */
export function withClickHouse(platform: Platform, changed: Partial<Platform['clickhouse']>): Platform {
  return { ...platform, clickhouse: { ...platform.clickhouse, ...changed } };
}
