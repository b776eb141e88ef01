import { openPostgres } from '../../../src/platform/postgres/pool.ts';
import type { Postgres } from '../../../src/platform/postgres/port.ts';
import { openEmbeddedPlatform } from '../../../src/app/wiring/embedded.ts';
import { startTestService, type TestService } from '../../engines/service.ts';
import { newDatabase } from '../../engines/shared-postgres.ts';
import { startTcpProxy, type TcpProxy } from '../../engines/tcp-proxy.ts';
import { send } from '../../ingest/intake-client.ts';

/**
 * A service with the roles api and intake that reaches Postgres through a proxy, while its event log does not: as a
 * distributed installation that loses Postgres and keeps Kafka.
 */
export interface ProxiedService extends TestService {
  proxy: TcpProxy;
  /** Postgres without the proxy. */
  direct: Postgres;
  /** Moves the clock of the service forward. */
  advance(by_ms: number): void;
  /** Sends an event with this key. */
  event(api_key: string): ReturnType<typeof send>;
}

export async function startProxiedService(): Promise<ProxiedService> {
  let ahead_ms = 0;
  let proxy: TcpProxy | undefined;
  let direct: Postgres | undefined;
  const service = await startTestService({ roles: new Set(['api', 'intake']) }, async (config) => {
    const database = await newDatabase({ prepared: true });
    if (database === undefined) throw new Error('these tests need the shared Postgres');
    const url = new URL(database.url);
    const platform = await openEmbeddedPlatform(config, undefined, () =>
      Promise.resolve({ url: url.href, stop: () => database.close() }),
    );
    direct = platform.postgres;
    const opened = (proxy = await startTcpProxy({ host: url.hostname, port: Number(url.port) }));
    url.port = String(opened.port);
    const postgres = openPostgres(url.href);
    const close = async () => {
      opened.restore();
      await postgres.close();
      await opened.close();
      await platform.close();
    };
    return { ...platform, postgres, clock: { now_ms: () => Date.now() + ahead_ms }, close };
  });
  if (proxy === undefined || direct === undefined) throw new Error('the platform was opened');
  return {
    ...service,
    proxy,
    direct,
    advance: (by_ms) => (ahead_ms += by_ms),
    event(api_key) {
      const body = { event: 'page_view', anonymous_id: 'a', properties: { url: '/' } };
      return send(`${service.ingest_url}/v1/events`, api_key, { body });
    },
  };
}
