import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import kafkajs, { type Admin } from 'kafkajs';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { readConfig, type Servers } from '../../../src/config.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { createKafka } from '../../../src/platform/event-log/kafka-client.ts';
import { openKafkaLog } from '../../../src/platform/event-log/kafka-log.ts';
import { LogMisconfigured, LogUnavailable, type EventLog } from '../../../src/platform/event-log/port.ts';
import { newId } from '../../../src/platform/ids.ts';
import { createLogger } from '../../../src/platform/logger.ts';
import { openDistributedPlatform } from '../../../src/app/wiring/distributed.ts';
import type { Platform } from '../../../src/platform/platform.ts';
import { newInstallation } from '../../engines/installation.ts';
import { newKafkaSecurity, type KafkaSecurity } from '../../engines/kafka-security.ts';
import { startKafka, type KafkaEngine } from '../../engines/kafka.ts';
import { until } from '../../engines/until.ts';

/** A start with settings that cannot work fails with a message within this time. */
const BOUND_MS = 20_000;

/** A kind of resource of Kafka, and what a user may do with it. */
type Right = ['TOPIC' | 'GROUP' | 'CLUSTER', keyof typeof kafkajs.AclOperationTypes];

let dir: string;
let certificate: string;
let security: KafkaSecurity;
let kafka: KafkaEngine;
/** The environment of the service, without settings of Kafka security. */
let environment: Record<string, string>;
let sasl: Record<string, string>;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'test-kafka-security-'));
  security = await newKafkaSecurity(dir);
  certificate = await readFile(security.cert_file, 'utf8');
  kafka = await startKafka(security);
  const servers = await newInstallation(inject('servers'));
  environment = {
    LOG_LEVEL: 'silent',
    CREDENTIALS_KEY: 'ab'.repeat(32),
    ERASURE_KEY: 'ef'.repeat(32),
    INTERNAL_SECRET: 's'.repeat(32),
    PUBLIC_URL: 'http://localhost',
    KAFKA_BROKERS: security.sasl_brokers.join(','),
    KAFKA_TOPIC_PREFIX: servers.kafka_topic_prefix,
    KAFKA_REPLICATION_FACTOR: '1',
    CLICKHOUSE_URL: servers.clickhouse_url,
    POSTGRES_URL: servers.postgres_url,
    REDIS_URL: servers.redis_url ?? '',
  };
  sasl = {
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: security.cert_file,
    KAFKA_SASL_MECHANISM: 'SCRAM-SHA-512',
    KAFKA_SASL_USERNAME: security.username,
    KAFKA_SASL_PASSWORD: security.password,
  };
});
afterAll(async () => {
  await kafka?.stop();
  if (dir !== undefined) await rm(dir, { recursive: true, force: true });
});

async function open(given: Record<string, string>): Promise<Platform> {
  const config = readConfig({ ...environment, ...given });
  return openDistributedPlatform(config, config.servers as Servers);
}

/** Appends a record and reads it, once through a group and once directly. */
async function useLog({ eventLog }: Platform, value: string): Promise<void> {
  const read: string[] = [];
  const group = { topic: 'events', group: `of-${value}`, max_records: 100, linger_ms: 0 };
  await eventLog.append('events', [{ key: 'player', value }]);
  const consumer = await eventLog.consume({
    ...group,
    handle: async ({ records }) => void read.push(...records.map((record) => record.value)),
  });
  await until(() => read.includes(value));
  await consumer.close();
  // Another client asks this question, with the same settings.
  expect((await eventLog.describe('events')).id).toMatch(/^[\w-]+\/[\w-]+$/);
  const found: string[] = [];
  for (const [partition, end] of await eventLog.endOffsets('events')) {
    for await (const { records } of eventLog.read('events', partition, 0n, end)) {
      found.push(...records.map((record) => record.value));
    }
  }
  expect(found).toContain(value);
  await eventLog.ping();
}

test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])(
  'the event log works over TLS, signed in with %s',
  async (mechanism) => {
    const platform = await open({ ...sasl, KAFKA_SASL_MECHANISM: mechanism });
    await useLog(platform, mechanism);
    await platform.close();
  },
);

test('the event log works over TLS with a client certificate', async () => {
  const platform = await open({
    KAFKA_BROKERS: security.mutual_brokers.join(','),
    KAFKA_TLS: 'true',
    KAFKA_CA_FILE: security.cert_file,
    KAFKA_CERT_FILE: security.cert_file,
    KAFKA_KEY_FILE: security.key_file,
  });
  await useLog(platform, 'certificate');
  await platform.close();
});

describe('a start with settings that Kafka refuses ends soon, and the message says what to do:', () => {
  const refusal = async (given: Record<string, string>): Promise<Error> => {
    const started_ms = performance.now();
    const error = await open(given).then(
      () => new Error('it started'),
      (reason: Error) => reason,
    );
    expect(performance.now() - started_ms).toBeLessThan(BOUND_MS);
    expect(`${error.message} ${error.stack}`).not.toContain(security.password);
    return error;
  };

  test.each(['PLAIN', 'SCRAM-SHA-256', 'SCRAM-SHA-512'])('a wrong password with %s', async (mechanism) => {
    const wrong = 'not-the-password';
    const error = await refusal({ ...sasl, KAFKA_SASL_MECHANISM: mechanism, KAFKA_SASL_PASSWORD: wrong });
    expect(error).toBeInstanceOf(LogMisconfigured);
    expect(error.message).toMatch(/refused the user or the password: check KAFKA_SASL_USERNAME/);
    expect(`${error.message} ${error.stack}`).not.toContain(wrong);
  });

  test('a certificate that no trusted authority signed', async () => {
    const { KAFKA_CA_FILE: _, ...without } = sasl;
    const error = await refusal(without);
    expect(error).toBeInstanceOf(LogMisconfigured);
    expect(error.message).toMatch(/not trusted.*KAFKA_CA_FILE.*SELF_SIGNED/);
  });

  test('a certificate of another host', async () => {
    const brokers = security.sasl_brokers.map((broker) => broker.replace('127.0.0.1', 'localhost'));
    const error = await refusal({ ...sasl, KAFKA_BROKERS: brokers.join(',') });
    expect(error).toBeInstanceOf(LogMisconfigured);
    expect(error.message).toMatch(/does not name the host/);
  });

  test('TLS settings, while Kafka speaks plain text', async () => {
    const error = await refusal({ ...sasl, KAFKA_BROKERS: kafka.brokers.join(',') });
    expect(error).toBeInstanceOf(LogUnavailable);
  });

  test('no TLS settings, while Kafka speaks only TLS', async () => {
    expect(await refusal({})).toBeInstanceOf(LogUnavailable);
  });

  test('a user, while Kafka has no SASL listener there', async () => {
    const error = await refusal({
      ...sasl,
      KAFKA_BROKERS: security.mutual_brokers.join(','),
      KAFKA_CERT_FILE: security.cert_file,
      KAFKA_KEY_FILE: security.key_file,
    });
    expect(error.message).toMatch(/asks for no user on this port/);
  });

  test('no client certificate, while Kafka requires one', async () => {
    const error = await refusal({
      KAFKA_BROKERS: security.mutual_brokers.join(','),
      KAFKA_TLS: 'true',
      KAFKA_CA_FILE: security.cert_file,
    });
    expect(error.message).toMatch(/wants a client certificate that it trusts: give KAFKA_CERT_FILE/);
  });

  test('files that do not exist or are no PEM files', async () => {
    const missing = await refusal({ ...sasl, KAFKA_CA_FILE: join(dir, 'nowhere.pem') });
    expect(missing).toMatchObject({
      name: 'ConfigError',
      message: expect.stringMatching(/^KAFKA_CA_FILE:.*ENOENT/),
    });
    const other = join(dir, 'other.pem');
    await writeFile(other, 'nothing');
    expect((await refusal({ ...sasl, KAFKA_CA_FILE: other })).message).toMatch(/^KAFKA_CA_FILE holds no/);
    const client = { KAFKA_CERT_FILE: security.cert_file, KAFKA_KEY_FILE: other };
    expect((await refusal({ ...sasl, ...client })).message).toMatch(
      /^KAFKA_CERT_FILE and KAFKA_KEY_FILE are/,
    );
  });

  test('the process writes one line and exits', async () => {
    const { PATH = '' } = process.env;
    const wrong = 'not-the-password';
    const child = spawn(process.execPath, ['dist/src/main.js'], {
      env: { PATH, ...environment, ...sasl, KAFKA_SASL_PASSWORD: wrong, DATA_DIR: dir, ROLES: 'intake' },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    const [written, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')]);
    expect(code).toBe(1);
    expect(written).toMatch(/^Kafka refused the user or the password: check KAFKA_SASL_USERNAME.*\n$/);
    expect(written).not.toContain(wrong);
  });
});

describe('a user with the rights that docs/kafka.md lists', () => {
  /** The rights on topics and groups with the prefix. */
  const RIGHTS: readonly Right[] = [
    ...(['DESCRIBE', 'DESCRIBE_CONFIGS', 'READ', 'WRITE', 'CREATE'] as const).map((name): Right => [
      'TOPIC',
      name,
    ]),
    ...(['READ', 'DESCRIBE'] as const).map((name): Right => ['GROUP', name]),
  ];
  /** The other rights. */
  const COMMON: readonly Right[] = [
    ['CLUSTER', 'DESCRIBE'],
    ['CLUSTER', 'IDEMPOTENT_WRITE'],
  ];
  let admin: Admin;
  beforeAll(async () => {
    admin = createKafka({ brokers: kafka.brokers, logger: createLogger('silent') }).admin();
    await admin.connect();
    await give('kafka-cluster', COMMON);
  });
  afterAll(async () => admin?.disconnect());

  /** Gives the limited user rights on what begins with `prefix`, and waits until the broker applies them. */
  async function give(prefix: string, rights: readonly Right[]): Promise<void> {
    const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs;
    const principal = `User:${security.limited.username}`;
    const acl = rights.map(([resource, operation]) => ({
      principal,
      host: '*',
      operation: AclOperationTypes[operation],
      permissionType: AclPermissionTypes.ALLOW,
      resourceType: AclResourceTypes[resource],
      ...(resource === 'CLUSTER'
        ? { resourceName: 'kafka-cluster', resourcePatternType: ResourcePatternTypes.LITERAL }
        : { resourceName: prefix, resourcePatternType: ResourcePatternTypes.PREFIXED }),
    }));
    await admin.createAcls({ acl });
    await until(async (saw) => {
      const found = saw(
        await admin.describeAcls({
          principal,
          resourceType: AclResourceTypes.ANY,
          resourcePatternType: ResourcePatternTypes.ANY,
          operation: AclOperationTypes.ANY,
          permissionType: AclPermissionTypes.ANY,
        }),
      );
      const of_prefix = found.resources.filter(({ resourceName }) =>
        [prefix, 'kafka-cluster'].includes(resourceName),
      );
      return of_prefix.reduce((sum, { acls }) => sum + acls.length, 0) >= rights.length;
    });
  }

  /** Withdraws one right. */
  async function take(prefix: string, [resource, operation]: Right): Promise<void> {
    const { AclResourceTypes, AclOperationTypes, AclPermissionTypes, ResourcePatternTypes } = kafkajs;
    const filter = {
      resourceType: AclResourceTypes[resource],
      resourceName: prefix,
      resourcePatternType: ResourcePatternTypes.PREFIXED,
      operation: AclOperationTypes[operation],
      permissionType: AclPermissionTypes.ALLOW,
    };
    await admin.deleteAcls({ filters: [filter] });
  }

  /** Opens the event log as the limited user. */
  function openLimited(topic_prefix: string, logger = createLogger('silent')): EventLog {
    return openKafkaLog({
      brokers: security.sasl_brokers,
      tls: { ca: certificate },
      sasl: { mechanism: 'PLAIN', ...security.limited },
      topic_prefix,
      clock: systemClock,
      logger,
    });
  }

  /** Uses the log as a process does from its start on, and closes it. */
  async function work(eventLog: EventLog): Promise<string[]> {
    const read: string[] = [];
    try {
      await eventLog.ensureTopics(['events']);
      await eventLog.append('events', [{ key: 'player', value: 'record' }]);
      await eventLog.consume({
        topic: 'events',
        group: 'fold',
        max_records: 100,
        linger_ms: 0,
        handle: async ({ records }) => void read.push(...records.map(({ value }) => value)),
      });
      await until((saw) => saw(read.length) > 0);
      for await (const { records } of eventLog.read('events', 0, 0n, 1n)) {
        read.push(...records.map(({ value }) => value));
      }
      return read;
    } finally {
      await eventLog.close();
    }
  }

  test('can do everything', async () => {
    const prefix = `${newId()}.`;
    await give(prefix, RIGHTS);
    expect(await work(openLimited(prefix))).toEqual(['record', 'record']);
  });

  test.each([
    ['TOPIC', 'CREATE', /too few rights.* on topics/],
    ['TOPIC', 'DESCRIBE_CONFIGS', /too few rights.* on topics/],
    ['TOPIC', 'WRITE', /too few rights.* on topics/],
    ['TOPIC', 'READ', /too few rights.* on topics/],
    ['GROUP', 'READ', /too few rights.* on groups/],
  ] as const)(
    'except %s %s is refused, and the message says what to give',
    async (resource, operation, message) => {
      const prefix = `${newId()}.`;
      await give(
        prefix,
        RIGHTS.filter((right) => right[0] !== resource || right[1] !== operation),
      );
      const started_ms = performance.now();
      const error: unknown = await work(openLimited(prefix)).catch((reason: unknown) => reason);
      expect(error).toBeInstanceOf(LogMisconfigured);
      expect((error as Error).message).toMatch(message);
      expect(performance.now() - started_ms).toBeLessThan(BOUND_MS);
    },
  );

  test('that are withdrawn while it consumes: it waits longer before each restart, and goes on once they are back', async () => {
    const prefix = `${newId()}.`;
    await give(prefix, RIGHTS);
    const restarts: Record<string, unknown>[] = [];
    const write = (line: string) => {
      const entry = JSON.parse(line) as Record<string, unknown>;
      if (String(entry['msg']).includes('joining again')) restarts.push(entry);
    };
    const eventLog = openLimited(prefix, pino({ level: 'warn' }, { write }));
    const read: string[] = [];
    await eventLog.ensureTopics(['events']);
    await eventLog.consume({
      topic: 'events',
      group: 'fold',
      max_records: 100,
      linger_ms: 0,
      handle: async ({ records }) => void read.push(...records.map(({ value }) => value)),
    });
    await take(prefix, ['TOPIC', 'READ']);
    await until((saw) => saw(restarts.length) >= 3);
    await give(prefix, RIGHTS);
    await eventLog.append('events', [{ key: 'player', value: 'later' }]);
    await until(() => read.includes('later'));
    await eventLog.close();
    expect(restarts.slice(0, 3).map(({ pause_ms }) => pause_ms)).toEqual([200, 400, 800]);
    expect(JSON.stringify(restarts[0])).toMatch(/too few rights.* on topics/);
  });

  test('except all on groups is refused', async () => {
    const prefix = `${newId()}.`;
    await give(
      prefix,
      RIGHTS.filter(([resource]) => resource !== 'GROUP'),
    );
    const started_ms = performance.now();
    const error: unknown = await work(openLimited(prefix)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(LogMisconfigured);
    expect((error as Error).message).toMatch(
      /no coordinator of the consumer group: give the user the rights on groups/,
    );
    expect(performance.now() - started_ms).toBeLessThan(BOUND_MS);
  });
});
