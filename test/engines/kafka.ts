import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { Kafka, logLevel } from 'kafkajs';
import { freePort } from './free-port.ts';
import { dockerAnswers, startContainer } from './docker.ts';
import type { KafkaSecurity } from './kafka-security.ts';
import { ServerProcess, type Engine } from './server-process.ts';

const run = promisify(execFile);
const JARS = resolve('.cache/kafka/libs');

export interface KafkaEngine extends Engine {
  brokers: string[];
}

/**
 * Starts a single Kafka 4.1 broker (KRaft): a container where Docker answers, otherwise a local Java process. With
 * `security` it has those listeners in addition to the open one in `brokers`.
 */
export async function startKafka(security?: KafkaSecurity): Promise<KafkaEngine> {
  const port = await freePort();
  const brokers = [`127.0.0.1:${port}`];
  if (await dockerAnswers()) {
    const engine = await startContainer({
      image: 'apache/kafka:4.1.1',
      port: 9092,
      host_port: port,
      more_ports: (security?.listeners ?? []).map(({ port: host }) => ({ container: host, host })),
      environment: containerEnvironment(port, security),
      ready: () => answers(brokers),
      ...(security && { after_start: ['/opt/kafka/bin/kafka-configs.sh', ...addUsers(security)] }),
    });
    return { brokers, ...engine };
  }
  return { brokers, ...(await startLocal(port, security)) };
}

/** The arguments of kafka-configs that create the SCRAM users, whom the broker stores itself. */
function addUsers({ username, password }: KafkaSecurity): string[] {
  const passwords = ['SCRAM-SHA-256', 'SCRAM-SHA-512'].map((name) => `${name}=[password=${password}]`);
  const user = ['--alter', '--entity-type', 'users', '--entity-name', username];
  return ['--bootstrap-server', 'localhost:9092', ...user, '--add-config', passwords.join(',')];
}

async function startLocal(port: number, security?: KafkaSecurity): Promise<Engine> {
  if (!existsSync(JARS)) {
    throw new Error(
      'no Kafka: give TEST_KAFKA_BROKERS, start Docker, or run scripts/install-test-engines.sh',
    );
  }
  const dir = await mkdtemp(join(tmpdir(), 'test-kafka-'));
  const config = join(dir, 'server.properties');
  await writeFile(config, properties(dir, port, await freePort(), security));
  const java = ['-cp', `${JARS}/*`];
  await run('java', [
    ...java,
    'kafka.tools.StorageTool',
    'format',
    `--cluster-id=${clusterId()}`,
    '-c',
    config,
    ...(security === undefined ? [] : scramUsers(security)),
  ]);
  const server = new ServerProcess({
    name: 'Kafka',
    command: 'java',
    args: ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', ...java, 'kafka.Kafka', config],
    log_file: join(dir, 'server.log'),
    ready: () => answers([`127.0.0.1:${port}`]),
  });
  await server.start();
  return {
    kill: () => server.signal('SIGKILL'),
    restart: () => server.start(),
    async stop() {
      await server.signal('SIGKILL');
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Creates the same users in the storage before the broker starts. */
function scramUsers({ username, password }: KafkaSecurity): string[] {
  return ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
    '--add-scram',
    `${mechanism}=[name=${username},password=${password}]`,
  ]);
}

/** Resolves when the broker reports a controller. */
export async function answers(brokers: string[]): Promise<void> {
  const kafka = new Kafka({
    brokers,
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    retry: { retries: 0 },
  });
  const admin = kafka.admin();
  try {
    await admin.connect();
    const { controller, brokers: found } = await admin.describeCluster();
    if (controller === null || found.length === 0) throw new Error('no controller yet');
  } finally {
    await admin.disconnect();
  }
}

function clusterId(): string {
  return Buffer.from(randomUUID().replaceAll('-', ''), 'hex').toString('base64url');
}

const SETTINGS: Record<string, string> = {
  'process.roles': 'broker,controller',
  'node.id': '1',
  'controller.listener.names': 'CONTROLLER',
  'inter.broker.listener.name': 'PLAINTEXT',
  'listener.security.protocol.map': 'PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT',
  'offsets.topic.replication.factor': '1',
  'offsets.topic.num.partitions': '4',
  'transaction.state.log.replication.factor': '1',
  'transaction.state.log.min.isr': '1',
  // Tests create their topics, and a group need not wait for more members.
  'auto.create.topics.enable': 'false',
  'group.initial.rebalance.delay.ms': '0',
  // The controller refuses a restarted broker until its former session has expired, so the session is short.
  'broker.heartbeat.interval.ms': '500',
  'broker.session.timeout.ms': '1500',
};

function properties(
  dir: string,
  port: number,
  controller_port: number,
  security: KafkaSecurity | undefined,
): string {
  const settings = withListeners(security, `PLAINTEXT://127.0.0.1:${port}`, {
    'controller.quorum.voters': `1@127.0.0.1:${controller_port}`,
    listeners: `PLAINTEXT://127.0.0.1:${port},CONTROLLER://127.0.0.1:${controller_port}`,
    'log.dirs': join(dir, 'data'),
  });
  return Object.entries(settings)
    .map(([name, value]) => `${name}=${value.replaceAll('\n', '\\n')}\n`)
    .join('');
}

/** The image reads settings from variables: KAFKA_ and the setting in capitals, with `.` as `_` and `-` as `___`. */
function containerEnvironment(host_port: number, security?: KafkaSecurity): Record<string, string> {
  const settings = withListeners(security, `PLAINTEXT://127.0.0.1:${host_port}`, {
    'controller.quorum.voters': '1@localhost:9093',
    listeners: 'PLAINTEXT://:9092,CONTROLLER://:9093',
  });
  const name = (setting: string) =>
    `KAFKA_${setting.toUpperCase().replaceAll('-', '___').replaceAll('.', '_')}`;
  return Object.fromEntries(
    Object.entries(settings).map(([setting, value]) => [name(setting), value.replaceAll('\n', '\\n')]),
  );
}

function withListeners(
  security: KafkaSecurity | undefined,
  advertised: string,
  own: Record<string, string> & { listeners: string },
): Record<string, string> {
  const listeners = security?.listeners ?? [];
  const list = (first: string, host: string) =>
    [first, ...listeners.map(({ name, port }) => `${name}://${host}:${port}`)].join(',');
  const protocols = listeners.map(({ name, protocol }) => `${name}:${protocol}`);
  return {
    ...SETTINGS,
    ...own,
    ...security?.settings,
    listeners: list(own.listeners, own.listeners.startsWith('PLAINTEXT://:') ? '' : '127.0.0.1'),
    'advertised.listeners': list(advertised, '127.0.0.1'),
    'listener.security.protocol.map': [SETTINGS['listener.security.protocol.map'], ...protocols].join(','),
  };
}
