import { randomUUID } from 'node:crypto';
import { strFromU8, unzipSync } from 'fflate';
import { request } from 'undici';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitUntilCaughtUp } from '../../../src/analytics/caught-up.ts';
import { removeExpiredExports } from '../../../src/platform/export-files/export-file.ts';
import { runExportJob } from '../../../src/players/export/job.ts';
import { PLAYER_EXPORTS } from '../../../src/players/export/queries.ts';
import { call, sendBatch, type Answer } from '../../engines/http-client.ts';
import { filesOf } from '../../../src/players/export/files.ts';
import { OWN_FILES } from '../../../src/players/export/own-queries.ts';
import { packHours } from '../../../src/players/scores/send-time/hours.ts';
import { sunk, type TestService } from '../../engines/service.ts';
import { sharedService } from '../../engines/shared-service.ts';
import { until } from '../../engines/until.ts';
import { newMarkers, plantRows, type Planted } from '../erasure/planted.ts';

let service: TestService;
beforeAll(async () => {
  service = await sharedService();
});
afterAll(() => service?.close());

const api = (method: string, path: string, body?: unknown): Promise<Answer> =>
  call(service.base_url + path, service.session_token, { method, body });

/** More events than a page of the export has. */
const EVENTS = 1_250;

describe('the export of a player', () => {
  let planted: Planted;
  let made: Record<string, unknown>;
  let zip: Uint8Array;
  let path: string;

  beforeAll(async () => {
    const { marker, digits } = newMarkers().of(0);
    const body = {
      external_id: marker,
      anonymous_id: `device-${marker}`,
      traits: { email: `${marker}@example.com` },
    };
    const identified = await call(`${service.base_url}/v1/players/identify`, service.api_key, { body });
    const player_id = String(identified.data['player_id']);
    planted = { tenant_id: service.tenant_id, project_id: service.project_id, player_id, marker, digits };
    const properties = { amount: 100, currency: 'EUR', payment_method: 'card' };
    for (let from = 0; from < EVENTS; from += 50) {
      const events = Array.from({ length: 50 }, (_, n) =>
        n % 2 === 0
          ? { event: 'custom_note', player_id, properties: { note: `note ${from + n} ${marker}` } }
          : {
              event: 'deposit_confirmed',
              player_id,
              properties: { ...properties, transaction_id: `${marker} ${from + n}` },
            },
      );
      await sendBatch(service, service, events);
    }
    await api('PATCH', `/v1/players/${player_id}`, { custom_attributes: { note: marker } });
    await plantRows(service.platform.postgres.service, planted);
    await waitUntilCaughtUp(service.platform, 60_000);
    const asked = await api('POST', `/v1/players/${player_id}/export`);
    expect(asked, asked.text).toMatchObject({ status: 202, data: { player_id, status: 'queued' } });
    path = `/v1/players/${player_id}/exports/${String(asked.data['id'])}`;
    made = await until('the export is ready', async (saw) => {
      const { data } = await api('GET', path);
      return saw(data)['status'] === 'ready' ? data : undefined;
    });
    const headers = { authorization: `Bearer ${service.session_token}` };
    const answer = await request(`${service.base_url}${path}/file`, { headers });
    expect([answer.statusCode, answer.headers['content-type']]).toEqual([200, 'application/zip']);
    // Files of two people have two names in one folder.
    expect(answer.headers['content-disposition']).toBe(`attachment; filename="player-${player_id}.zip"`);
    zip = new Uint8Array(await answer.body.arrayBuffer());
  });

  it('is a zip that another library opens, with a file for each subject', () => {
    const files = unzipSync(zip);
    const lines = Object.fromEntries(
      Object.entries(files).map(([name, bytes]) => [
        name,
        strFromU8(bytes)
          .split('\n')
          .filter((line) => line !== ''),
      ]),
    );
    expect(zip.byteLength).toBe(made['bytes']);
    expect(Object.entries(lines).map(([name, of]) => ({ name, rows: of.length }))).toEqual(made['files']);
    for (const line of Object.values(lines).flat()) expect(() => JSON.parse(line) as unknown).not.toThrow();
    const counts = Object.fromEntries(Object.entries(lines).map(([name, of]) => [name, of.length]));
    expect(counts).toMatchObject({
      'profile.ndjson': 1,
      'ids.ndjson': 1,
      'events.ndjson': EVENTS,
      'ledger.ndjson': EVENTS / 2,
      'messages.ndjson': 1,
      'runs.ndjson': 1,
      'webhooks.ndjson': 1,
      'grants.ndjson': 1,
      'tiers.ndjson': 1,
      'kyc.ndjson': 1,
    });
    for (const name of [
      'profile',
      'ids',
      'events',
      'ledger',
      'messages',
      'runs',
      'webhooks',
      'grants',
      'tiers',
      'kyc',
      'audit',
    ])
      expect(lines[`${name}.ndjson`]?.join('\n'), name).toContain(planted.marker);
    expect(
      new Set(
        lines['events.ndjson']
          ?.map((line) => JSON.parse(line) as { event_index: number; ingestion_id: string })
          .map(({ ingestion_id, event_index }) => `${ingestion_id} ${event_index}`),
      ).size,
    ).toBe(EVENTS);
  });

  it('has the hours of sessions that send times are chosen by', async () => {
    const { tenant_id, project_id } = service;
    const { data } = await call(`${service.base_url}/v1/players/identify`, service.api_key, {
      body: { external_id: 'regular' },
    });
    const player_id = String(data['player_id']);
    const { service: sql } = service.platform.postgres;
    const packed = packHours(
      new Map([
        [0, 3],
        [167, 2],
      ]),
    );
    await sql`update players set session_hours = ${packed} where tenant_id = ${tenant_id} and player_id = ${player_id}`;
    const person = { tenant_id, project_id, player_ids: [player_id] };
    const lines: string[] = [];
    const file = filesOf(service.platform, person, OWN_FILES).find(({ name }) => name === 'session_hours');
    for await (const page of file?.pages() ?? []) lines.push(...page);
    expect(lines.map((line) => JSON.parse(line) as object)).toEqual([
      { hour_of_week: 0, sessions: 3 },
      { hour_of_week: 167, sessions: 2 },
    ]);
  });

  it('has the properties of events beyond the bytes of a page, with the digits that were sent', async () => {
    const { tenant_id, project_id } = service;
    const body = { external_id: 'large' };
    const { data } = await call(`${service.base_url}/v1/players/identify`, service.api_key, { body });
    const player_id = String(data['player_id']);
    const text = 'x'.repeat(30_000);
    for (let batch = 0; batch < 3; batch++) {
      // JSON.stringify has no integer of this size.
      const event = `{"event":"custom_large","player_id":"${player_id}","properties":{"text":"${text}","number":25000000000000000000}}`;
      const raw = `{"events":[${Array.from({ length: 30 }, () => event).join(',')}]}`;
      const sent = await call(`${service.ingest_url}/v1/events/batch`, service.api_key, { raw });
      expect(sent.data['accepted'], sent.text.slice(0, 300)).toBe(30);
    }
    await sunk(service.platform);
    const files = filesOf(service.platform, { tenant_id, project_id, player_ids: [player_id] }, []);
    const lines: string[] = [];
    for await (const page of files.find(({ name }) => name === 'events')?.pages() ?? []) lines.push(...page);
    expect(lines.length).toBe(90);
    expect(lines.filter((line) => line.endsWith('"number":25000000000000000000}}')).length).toBe(90);
  });

  it('is kept encrypted, and who asked for it and took it is in the audit log', async () => {
    const chunks = await service.platform.postgres.service<{ encrypted: Buffer }[]>`
      select encrypted from player_export_chunks where tenant_id = ${service.tenant_id}`;
    expect(chunks.length).toBeGreaterThan(0);
    expect(chunks.some(({ encrypted }) => encrypted.includes(planted.marker))).toBe(false);
    const { data } = await api('GET', `/v1/audit-log?resource_id=${planted.player_id}&action=export`);
    const statuses = (data as unknown as { after: { status: string } }[]).map(({ after }) => after.status);
    expect(statuses).toEqual(['downloaded', 'queued']);
  });

  it('says why it is made later when an attempt failed', async () => {
    const { platform, tenant_id, project_id } = service;
    const sql = platform.postgres.service;
    const export_id = randomUUID();
    await sql`
      insert into player_exports (tenant_id, export_id, project_id, player_id, status, requested_by, requested_at, expires_at)
      values (${tenant_id}, ${export_id}, ${project_id}, ${planted.player_id}, 'queued', 'u', now(), now() + interval '1 day')`;
    const page = () => Promise.reject(new Error('away'));
    const deps = {
      ...platform,
      files: [],
      credentials_keys: { current: '00'.repeat(32), previous: undefined },
    };
    const run = (more: object) =>
      runExportJob({ ...deps, ...more }, { tenant_id, export_id }, new AbortController().signal);
    const shown = async () =>
      (await api('GET', `/v1/players/${planted.player_id}/exports/${export_id}`)).data;
    await expect(run({ files: [{ name: 'broken', page }] })).rejects.toThrow('away');
    expect(await shown()).toMatchObject({
      status: 'queued',
      last_error: expect.stringContaining('an attempt failed') as string,
    });
    await run({});
    expect(await shown()).toMatchObject({ status: 'ready', last_error: null });
  });

  it('is of this player alone, and goes when its time is over', async () => {
    const other = await call(`${service.base_url}/v1/players/identify`, service.api_key, {
      body: { external_id: 'other' },
    });
    const foreign = path.replace(planted.player_id, String(other.data['player_id']));
    for (const one of [foreign, `${foreign}/file`]) expect((await api('GET', one)).code).toBe('NOT_FOUND');
    const sql = service.platform.postgres.service;
    await sql`update player_exports set expires_at = now() - interval '1 second' where tenant_id = ${service.tenant_id}`;
    expect((await api('GET', `${path}/file`)).code).toBe('NOT_FOUND');
    await removeExpiredExports(service.platform, PLAYER_EXPORTS);
    const left = await sql`select from player_export_chunks where tenant_id = ${service.tenant_id}`;
    expect(left.length).toBe(0);
  });
});
