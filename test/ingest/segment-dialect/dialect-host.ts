import type { FastifyInstance } from 'fastify';
import { openDialect } from '../../../src/app/segment-dialect.ts';
import { buildIntakeApp } from '../../../src/app/intake-app.ts';
import type { AcceptedEvent } from '../../../src/ingest/events/envelope.ts';
import type { IntakeDeps } from '../../../src/ingest/intake/routes.ts';
import type { Rejection } from '../../../src/ingest/rejected/rejected-events.ts';
import type { DialectParts } from '../../../src/ingest/segment-dialect/identities.ts';
import type { NewRecord } from '../../../src/platform/event-log/port.ts';
import type { Fixture } from '../../http/api-fixture.ts';
import { callApp, type Answer, type Call } from '../../engines/http-client.ts';

/** An event as the dialect appended it, and the key of its record. */
export interface Appended extends AcceptedEvent {
  key: string;
}

/** The ingestion host on the engines of an API host, with a log that keeps what is appended. */
export interface DialectHost {
  app: FastifyInstance;
  dialect: DialectParts;
  /** What was kept for Events › Rejected. */
  rejections: Rejection[];
  /** What was appended since it was last asked for. */
  takeAppended(): Appended[];
  /** Posts a body with Basic credentials of the key, or with the given headers. */
  post(key: string | undefined, path: string, body: unknown, request?: Call): Promise<Answer>;
  close(): Promise<void>;
}

export function basicOf(key: string): string {
  return `Basic ${Buffer.from(`${key}:`).toString('base64')}`;
}

export async function openDialectHost(
  { platform, config, deps: api, auth }: Fixture,
  changes: Partial<DialectParts> & Partial<Pick<IntakeDeps, 'clock' | 'rateLimiter'>> = {},
): Promise<DialectHost> {
  let appended: NewRecord[] = [];
  const rejections: Rejection[] = [];
  const eventLog = {
    ...platform.eventLog,
    append: (_topic: string, records: readonly NewRecord[]) => {
      appended.push(...records);
      return Promise.resolve();
    },
  };
  const dialect = { ...(await openDialect(config, platform, api.notifications)), ...changes };
  const deps: IntakeDeps = {
    ...platform,
    apiKeys: auth.api_keys,
    capabilities: api.capabilities,
    rejected: { note: (rejection) => rejections.push(rejection) },
    defaultPolicy: { name: 'ingest', ...config.rates.ingest },
    eventLog,
    ...changes,
  };
  const app = buildIntakeApp(deps, platform.logger, { dialect });
  await app.ready();
  return {
    app,
    dialect,
    rejections,
    takeAppended() {
      const taken = appended.map(({ key, value }) => ({ ...(JSON.parse(value) as AcceptedEvent), key }));
      appended = [];
      return taken;
    },
    post(key, path, body, { headers, ...request } = {}) {
      const raw = typeof body === 'string' ? body : JSON.stringify(body);
      const authorization = key === undefined ? {} : { authorization: basicOf(key) };
      return callApp(app, path, undefined, {
        method: 'POST',
        raw,
        ...request,
        headers: { 'content-type': 'text/plain', ...authorization, ...headers },
      });
    },
    close: () => app.close(),
  };
}
