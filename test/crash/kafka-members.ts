import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, leaveGroupV5 } from '@platformatic/kafka';
import type { Servers } from '../../src/config.ts';
import { createKafka } from '../../src/platform/event-log/kafka-client.ts';
import { GROUPS } from '../../src/platform/event-log/topics.ts';
import { createLogger } from '../../src/platform/logger.ts';

/** Kafka expires the sessions by itself after 15 s. */
const GIVE_UP_MS = 15_000;
const RETRY_MS = 250;
const ANSWER_MS = 1_000;

/** Group → the ids of its members. */
export type Members = ReadonlyMap<string, readonly string[]>;

/** The members of the service's consumer groups; none when Kafka does not answer. */
export async function membersOf({ kafka_brokers, kafka_topic_prefix }: Servers): Promise<Members> {
  const kafka = createKafka({ brokers: kafka_brokers, logger: createLogger('silent') });
  const admin = kafka.admin({ retry: { retries: 0 } });
  try {
    const names = Object.values(GROUPS).map((group) => kafka_topic_prefix + group);
    const answer = admin.connect().then(() => admin.describeGroups(names));
    const described = await Promise.race([answer, sleep(ANSWER_MS, undefined, { ref: false })]);
    const groups = described?.groups ?? [];
    return new Map(groups.map(({ groupId, members }) => [groupId, members.map(({ memberId }) => memberId)]));
  } catch {
    return new Map();
  } finally {
    await admin.disconnect().catch(() => undefined);
  }
}

/**
 * Takes members of a killed process out of their groups, so that its successor need not wait until their sessions expire.
 * Goes on trying until that time; never rejects.
 */
export async function removeMembers({ kafka_brokers }: Servers, members: Members): Promise<void> {
  const [host = '', port = ''] = kafka_brokers[0]?.split(':') ?? [];
  const left = new Map([...members].filter(([, ids]) => ids.length > 0));
  for (const deadline_ms = Date.now() + GIVE_UP_MS; left.size > 0 && Date.now() < deadline_ms;) {
    const connection = new Connection('torture', { connectTimeout: ANSWER_MS });
    connection.on('error', () => undefined);
    try {
      await connection.connect(host, Number(port));
      for (const [group, ids] of left) {
        const leaving = ids.map((memberId) => ({ memberId, groupInstanceId: null, reason: 'killed' }));
        await leaveGroupV5.api.async(connection, group, leaving);
        left.delete(group);
      }
    } catch {
      await sleep(RETRY_MS);
    } finally {
      await connection.close().catch(() => undefined);
    }
  }
}
