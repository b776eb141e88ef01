import { rm } from 'node:fs/promises';
import type { ProvidedContext } from 'vitest';
import type { TestProject } from 'vitest/node';
import { clickHouseAnswers, startClickHouse } from './clickhouse.ts';
import { newTemplate } from './installation.ts';
import { answers, startKafka } from './kafka.ts';
import { postgresAnswers, startPostgres } from './postgres.ts';
import { makeRunFolder } from './run-folder.ts';
import { redisAnswers, startRedis } from './redis.ts';

/**
 * Addresses of the servers that all files of the distributed suite share; `installation.ts` gives each file its part.
 */
export interface TestServers {
  kafka_brokers: string[];
  redis_url: string;
  postgres_url: string;
  clickhouse_url: string;
  /** A migrated database without rows that each file copies. Without it the databases of the files start empty. */
  postgres_template?: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    servers: TestServers;
  }
}

interface Stoppable {
  stop(): Promise<void>;
}

/**
 * Uses the servers named in the environment and starts the others, for this test project and those that are set up
 * after it.
 */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dir = await makeRunFolder();
  const started: Stoppable[] = [];
  const stop = async () => {
    await Promise.all(started.map((engine) => engine.stop()));
    await rm(dir, { recursive: true, force: true });
  };
  const keep = <T extends Stoppable>(engine: T): T => {
    started.push(engine);
    return engine;
  };
  const { env } = process;
  try {
    const kafka_brokers = (env['TEST_KAFKA_BROKERS'] ??= keep(await startKafka()).brokers.join(',')).split(
      ',',
    );
    const redis_url = (env['TEST_REDIS_URL'] ??= keep(await startRedis()).url);
    const postgres_url = (env['TEST_POSTGRES_URL'] ??= keep(await startPostgres()).url);
    const clickhouse_url = (env['TEST_CLICKHOUSE_URL'] ??= keep(await startClickHouse()).url);
    await named('TEST_KAFKA_BROKERS', answers(kafka_brokers));
    await named('TEST_REDIS_URL', redisAnswers(redis_url));
    await named('TEST_POSTGRES_URL', postgresAnswers(postgres_url));
    await named('TEST_CLICKHOUSE_URL', clickHouseAnswers(clickhouse_url));
    // Once, before files run in parallel: roles belong to the whole server, and two files cannot create the same role.
    const postgres_template = (env['TEST_POSTGRES_TEMPLATE'] ??= await newTemplate(postgres_url));
    const servers: ProvidedContext['servers'] = {
      kafka_brokers,
      redis_url,
      postgres_url,
      clickhouse_url,
      postgres_template,
    };
    project.provide('servers', servers);
  } catch (error) {
    await stop();
    throw error;
  }
  return stop;
}

async function named(variable: string, answer: Promise<void>): Promise<void> {
  try {
    await answer;
  } catch (cause) {
    throw new Error(`the server of ${variable} does not answer`, { cause });
  }
}
