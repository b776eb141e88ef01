import { setTimeout as sleep } from 'node:timers/promises';
import { isReady } from '../../scripts/service-process.ts';
import type { DistributedService } from './distributed-service.ts';
import { membersOf, removeMembers, type Members } from './kafka-members.ts';
import type { Random } from './random.ts';

export const VICTIMS = ['postgres', 'kafka', 'redis', 'clickhouse', 'processors', 'front'] as const;
export type VictimName = (typeof VICTIMS)[number];

/** What is killed, and when. All times are in milliseconds. */
export interface Strike {
  /** One, or two: the second is killed `gap_ms` after the first, or `gap_ms` after the first begins to start again. */
  victims: readonly [VictimName] | readonly [VictimName, VictimName];
  moment: 'load' | 'together' | 'start';
  /** Time under load before the first kill. */
  after_ms: number;
  gap_ms: number;
  /** How long the killed ones stay away. */
  outage_ms: number;
}

const UNDER_LOAD_MS = { min: 100, max: 2_500 };
const OUTAGE_MS = { min: 0, max: 1_000 };
const TOGETHER_GAP_MS = { min: 0, max: 300 };
const START_GAP_MS = { min: 0, max: 2_500 };
const TOGETHER_SHARE = 0.15;
const START_SHARE = 0.15;
const START_TIMEOUT_MS = 120_000;
const READY_TIMEOUT_MS = 90_000;
const POLL_MS = 50;

/**
 * Strikes with `kills` kills in all. The first ones kill every server and process once, two at a time, so that short runs
 * do so in little time.
 */
export function* planStrikes(random: Random, kills: number): Generator<Strike> {
  const first = shuffled(random);
  for (let planned = 0; planned < kills;) {
    const is_first = first.length > 0;
    const victim = first.pop() ?? random.pick(VICTIMS);
    const strike: Strike = {
      victims: [victim],
      moment: 'load',
      after_ms: random.integer(UNDER_LOAD_MS.min, UNDER_LOAD_MS.max),
      gap_ms: 0,
      outage_ms: random.integer(OUTAGE_MS.min, OUTAGE_MS.max),
    };
    const share = random.next();
    const may_be_two = kills - planned >= 2;
    if (may_be_two && (is_first || share < TOGETHER_SHARE)) {
      const others = VICTIMS.filter((name) => name !== victim);
      strike.moment = 'together';
      strike.victims = [victim, first.pop() ?? random.pick(others)];
      strike.gap_ms = random.integer(TOGETHER_GAP_MS.min, TOGETHER_GAP_MS.max);
    } else if (may_be_two && share < TOGETHER_SHARE + START_SHARE) {
      // The process id of a Postgres is known only once it has started.
      const others = VICTIMS.filter((name) => name !== victim || name !== 'postgres');
      strike.moment = 'start';
      strike.victims = [victim, random.pick(others)];
      strike.gap_ms = random.integer(START_GAP_MS.min, START_GAP_MS.max);
    }
    planned += strike.victims.length;
    yield strike;
  }
}

function shuffled(random: Random): VictimName[] {
  const left: VictimName[] = [...VICTIMS];
  return Array.from(VICTIMS, () => {
    const [one] = left.splice(random.integer(0, left.length - 1), 1);
    if (one === undefined) throw new RangeError('nothing is left');
    return one;
  });
}

const isProcess = (name: VictimName): name is 'front' | 'processors' =>
  name === 'front' || name === 'processors';

/** Kills the servers and processes of a service, and starts them again. */
export class ServerKills {
  #service: DistributedService;
  #onFront: (is_up: boolean) => void;
  /** The members of consumer groups that a killed processors' process left behind. */
  #left_behind: Members = new Map();

  /** `onFront` is told when the front process is killed, and when it runs again. */
  constructor(service: DistributedService, onFront: (is_up: boolean) => void) {
    this.#service = service;
    this.#onFront = onFront;
  }

  /**
   * Kills as planned, starts everything again, and resolves when both processes are ready. Returns how long the way back
   * took, and which processes ended although nobody had killed them.
   */
  async strike(strike: Strike): Promise<{ restart_ms: number; ended: string[] }> {
    const [first, second] = strike.victims;
    await sleep(strike.after_ms);
    const ended = await this.#endedProcesses();
    // Before the first kill, which may be Kafka's.
    if (first === 'processors' || second === 'processors')
      this.#left_behind = await membersOf(this.#service.servers);
    await this.#kill(first);
    let starting: Promise<boolean> | undefined;
    if (strike.moment === 'together') await sleep(strike.gap_ms);
    if (strike.moment === 'start') {
      await sleep(strike.outage_ms);
      starting = this.#startOnce(first);
      await Promise.race([starting, sleep(strike.gap_ms)]);
    }
    if (second !== undefined) await this.#kill(second);
    await sleep(strike.outage_ms);
    const started_ms = performance.now();
    // When it was killed itself, its start fails at once. Otherwise it may need the second to start.
    if (first === second) await starting;
    const again = async () => {
      if (starting === undefined || first === second || !(await starting)) await this.#start(first);
    };
    await Promise.all([again(), second === undefined || second === first ? undefined : this.#start(second)]);
    this.#onFront(true);
    for (const name of ['front', 'processors'] as const) await this.#backAgain(name);
    return { restart_ms: performance.now() - started_ms, ended };
  }

  async #kill(name: VictimName): Promise<void> {
    if (isProcess(name)) await this.#service[name].signal('SIGKILL');
    else await this.#service[name]?.kill();
    if (name === 'front') this.#onFront(false);
  }

  /** Tries once; resolves with whether it has started. */
  #startOnce(name: VictimName): Promise<boolean> {
    return this.#begin(name).then(
      () => true,
      () => false,
    );
  }

  /** A process that finds a server away while it starts may end; as an installation would, this starts it again. */
  async #start(name: VictimName): Promise<void> {
    for (const deadline_ms = Date.now() + START_TIMEOUT_MS; ;) {
      try {
        return await this.#begin(name);
      } catch (error) {
        if (!isProcess(name) || Date.now() > deadline_ms) throw error;
      }
    }
  }

  async #begin(name: VictimName): Promise<void> {
    if (!isProcess(name)) return this.#service[name]?.restart();
    if (name === 'processors') void removeMembers(this.#service.servers, this.#left_behind);
    await this.#service[name].start();
  }

  /** Starts processes that ended by themselves again; returns which, with the end of their logs. */
  async #endedProcesses(): Promise<string[]> {
    const ended: string[] = [];
    for (const name of ['front', 'processors'] as const) {
      if (this.#service[name].running) continue;
      ended.push(`the process ${name} ended by itself: ${await this.#service[name].logTail()}`);
      await this.#start(name);
    }
    return ended;
  }

  async #backAgain(name: 'front' | 'processors'): Promise<void> {
    const process = this.#service[name];
    for (const deadline_ms = Date.now() + READY_TIMEOUT_MS; ; await sleep(POLL_MS)) {
      // The next strike reports a process that has ended.
      if (!process.running || (await isReady(process.base_url))) return;
      if (Date.now() > deadline_ms)
        throw new Error(`${name} is not ready again:\n${await process.logTail()}`);
    }
  }
}
