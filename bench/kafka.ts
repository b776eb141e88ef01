import { startClickHouse } from '../test/engines/clickhouse.ts';
import { newInstallation } from '../test/engines/installation.ts';
import { startKafka } from '../test/engines/kafka.ts';
import { startPostgres } from '../test/engines/postgres.ts';
import { startRedis } from '../test/engines/redis.ts';
import { benchIntake } from './intake.ts';
import type { Result } from './measure.ts';

/** Intake on real servers, which it starts for the measurement (`scripts/install-test-engines.sh` installs them). */
export async function benchIntakeWithKafka(): Promise<Result[]> {
  const engines: { stop(): Promise<void> }[] = [];
  const keep = <Engine extends { stop(): Promise<void> }>(engine: Engine): Engine => {
    engines.push(engine);
    return engine;
  };
  try {
    const { brokers: kafka_brokers } = keep(await startKafka());
    const { url: redis_url } = keep(await startRedis());
    const { url: postgres_url } = keep(await startPostgres());
    const { url: clickhouse_url } = keep(await startClickHouse());
    const installation = await newInstallation({ kafka_brokers, redis_url, postgres_url, clickhouse_url });
    return await benchIntake(JSON.stringify(installation));
  } finally {
    await Promise.all(engines.map((engine) => engine.stop()));
  }
}
