import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Platform } from '../../../src/platform/platform.ts';
import type { Answer } from '../../engines/http-client.ts';
import type { Fixture, Tenant } from '../../http/api-fixture.ts';
import { sharedFixture } from '../../http/shared-fixture.ts';
import type { ProjectRef } from '../../../src/tenants/project-ref.ts';

export const UNKNOWN = '00000000-0000-4000-8000-000000000000';

/** A row of the Postgres table message_sends; fields that a test leaves out get defaults. */
export interface SendFields {
  send_id?: string;
  campaign_id?: string | null;
  player_id?: string;
  channel?: string;
  variant_id?: string | null;
  template_id?: string | null;
  dedup_key?: string;
  recipient?: string | null;
  status?: string;
  error_code?: string | null;
  enqueued_at?: Date;
  sent_at?: Date | null;
  delivered_at?: Date | null;
  opened_at?: Date | null;
  clicked_at?: Date | null;
  bounced_at?: Date | null;
}

/** Inserts send rows as the messenger would leave them. */
export async function storeSends(
  { postgres }: Platform,
  { tenant_id, project_id }: ProjectRef,
  sends: readonly SendFields[],
): Promise<string[]> {
  const { service } = postgres;
  const rows = sends.map((send) => ({
    tenant_id,
    project_id,
    send_id: randomUUID(),
    campaign_id: null,
    player_id: randomUUID(),
    channel: 'email',
    status: 'sent',
    enqueued_at: new Date('2026-05-01T10:00:00Z'),
    ...send,
  }));
  for (const row of rows) {
    const { sent_at, opened_at, clicked_at, bounced_at, ...queued } = row;
    await service`insert into message_sends ${service(queued)}`;
    const reached = Object.entries({ sent_at, opened_at, clicked_at, bounced_at }).filter(
      ([, at]) => at != null,
    );
    // A stage is reached by a change.
    if (reached.length > 0)
      await service`
        update message_sends set ${service(Object.fromEntries(reached))}, changed_xid = pg_current_xact_id()
        where send_id = ${row.send_id}`;
  }
  return rows.map(({ send_id }) => send_id);
}

/** Inserts a message of the campaign that its provider did not take in time. */
export const storeUnavailable = (platform: Platform, ref: ProjectRef, campaign_id: string) =>
  storeSends(platform, ref, [{ campaign_id, status: 'failed', error_code: 'PROVIDER_UNAVAILABLE' }]);

/** The API with a tenant that has the objects that a campaign refers to. */
export interface CampaignFixture {
  fixture: Fixture;
  tenant: Tenant;
  segment_id: string;
  template_id: string;
  sms_template_id: string;
  provider_id: string;
  api: (method: string, path: string, body?: unknown, of?: Tenant) => Promise<Answer>;
  template: (channel: string, of?: Tenant) => Promise<string>;
  provider: (channel: string, of?: Tenant) => Promise<string>;
  segment: (of?: Tenant) => Promise<string>;
  /** A valid request body; `rest` replaces or adds fields. */
  body: (rest?: Record<string, unknown>) => Record<string, unknown>;
  /** Creates a campaign; returns its id. */
  make: (rest?: Record<string, unknown>) => Promise<string>;
  setStatus: (campaign_id: string, status: string) => Promise<void>;
}

export async function openCampaignFixture(): Promise<CampaignFixture> {
  const fixture = await sharedFixture();
  const tenant = await fixture.makeTenant();
  const { service } = fixture.platform.postgres;
  const now = new Date();
  const api: CampaignFixture['api'] = (method, path, body, of = tenant) =>
    fixture.as(of.session, path, { method, ...(body === undefined ? {} : { body }) });
  const template: CampaignFixture['template'] = async (channel, { tenant_id, project_id } = tenant) => {
    const template_id = randomUUID();
    await service`
      insert into templates (tenant_id, project_id, template_id, name, channel, status, subject, body, created_at, updated_at)
      values (${tenant_id}, ${project_id}, ${template_id}, 'T', ${channel}, 'draft', 'S', 'B', ${now}, ${now})`;
    return template_id;
  };
  const provider: CampaignFixture['provider'] = async (channel, { tenant_id } = tenant) => {
    const provider_id = randomUUID();
    await service`
      insert into messaging_providers (tenant_id, provider_id, name, kind, channel, status, config, created_at, updated_at)
      values (${tenant_id}, ${provider_id}, 'P', 'sandbox', ${channel}, 'active', '{}', ${now}, ${now})`;
    return provider_id;
  };
  const segment: CampaignFixture['segment'] = async (of = tenant) => {
    const definition = { operator: 'AND', conditions: [{ type: 'random', percent: 100, salt: 'a' }] };
    const { body, text } = await api('POST', '/v1/segments', { name: 'S', definition }, of);
    expect(body.data?.['id'], text).toBeDefined();
    return String(body.data['id']);
  };
  const [segment_id, template_id, sms_template_id, provider_id] = await Promise.all([
    segment(),
    template('email'),
    template('sms'),
    provider('email'),
  ]);
  const body: CampaignFixture['body'] = (rest = {}) => {
    return { name: 'A campaign', segment_id, template_id, channel: 'email', ...rest };
  };
  return {
    fixture,
    tenant,
    segment_id,
    template_id,
    sms_template_id,
    provider_id,
    api,
    template,
    provider,
    segment,
    body,
    async make(rest) {
      const answer = await api('POST', '/v1/campaigns', body(rest));
      expect(answer.status, answer.text).toBe(201);
      return String(answer.body.data['id']);
    },
    async setStatus(campaign_id, status) {
      await service`update campaigns set status = ${status} where campaign_id = ${campaign_id}`;
    },
  };
}

/** Expects this refusal, and that its issues name these paths. */
export function expectRefusal(answer: Answer, status: number, code: string, paths: string[] = []): void {
  expect([answer.status, answer.body.error?.code], answer.text).toEqual([status, code]);
  const issues = (answer.body.error.details?.['issues'] ?? []) as { path: string }[];
  for (const path of paths)
    expect(
      issues.map((issue) => issue.path),
      answer.text,
    ).toContain(path);
}
