import * as fc from 'fast-check';
import { expect } from 'vitest';
import { actualOf, bindNew, expectedOf, type Real } from './compare.ts';
import type { CrashPoint } from './fragile.ts';
import { GONE, type Answer, type JourneyEvent, type Migration, type Model } from './model.ts';
import { SHAPES } from './shapes.ts';
import type { Stage } from './stage.ts';

/** The service, and the journey that the commands are about. */
export interface Scene extends Real {
  stage: Stage;
  /** By player: the device that sends its events. */
  devices: readonly string[];
  /** By player: the account, if it has one. */
  accounts: readonly (string | undefined)[];
  /** How many commands have run, by name. */
  met: Map<string, number>;
}

type Command = fc.AsyncCommand<Model, Scene>;

/** Time passes between any two commands: things that happen at the same moment have no order. */
const STEP_MS = 1_000;
const MINUTE_MS = 60_000;
/** Of a sequence: players with a device alone, and with an account. */
export const HAVE_ACCOUNTS: readonly boolean[] = [false, false, true, true];

/** After each command everything happens that is to happen, and service and model agree about all of it. */
abstract class Base implements Command {
  readonly #name: string;
  readonly #drawn: unknown[];
  /** Which reader of the log is ahead. */
  protected first: 'triggers' | 'matcher' = 'triggers';

  constructor(name: string, ...drawn: unknown[]) {
    this.#name = name;
    this.#drawn = drawn;
  }

  check(_model: Readonly<Model>): boolean {
    return true;
  }

  abstract act(model: Model, scene: Scene): Promise<void>;

  async run(model: Model, scene: Scene): Promise<void> {
    const { stage, met } = scene;
    met.set(this.#name, (met.get(this.#name) ?? 0) + 1);
    stage.now_ms += STEP_MS;
    model.now_ms = stage.now_ms;
    await this.act(model, scene);
    model.settle();
    await stage.settle(this.first);
    await agree(model, scene);
  }

  toString(): string {
    return `${this.#name}(${this.#drawn.map((one) => JSON.stringify(one)).join(', ')})`;
  }
}

/** Service and model agree. */
export async function agree(model: Model, scene: Scene): Promise<void> {
  const { sql } = scene.stage;
  await bindNew(sql, scene, model);
  const actual = await actualOf(sql, scene);
  expect(actual).toEqual(expectedOf(model, scene, actual));
}

export class Event extends Base {
  readonly #event: JourneyEvent;
  readonly #player: number;

  constructor(event: JourneyEvent, player: number, first: 'triggers' | 'matcher') {
    super(event, player, first);
    this.#event = event;
    this.#player = player;
    this.first = first;
  }

  /** What a run counts that was woken and then merged is not specified. */
  override check(model: Readonly<Model>): boolean {
    const player = model.survivor(this.#player);
    return !model.running.some((run) => run.player === player && run.is_moved && run.woken === 'event');
  }

  override async act(model: Model, { stage, devices }: Scene): Promise<void> {
    model.event(this.#event, this.#player);
    await stage.event(this.#event, devices[this.#player] ?? '');
  }
}

class Trigger extends Base {
  readonly #player: number;

  constructor(player: number) {
    super('trigger', player);
    this.#player = player;
  }

  override async act(model: Model, { stage, journey_id, player_ids }: Scene): Promise<void> {
    const body = { player_id: player_ids[this.#player] ?? '' };
    const { status, data, code } = await stage.client.api('POST', `/v1/journeys/${journey_id}/trigger`, body);
    if (model.status === 'paused') {
      expect([status, code]).toEqual([409, 'JOURNEY_INVALID_STATUS']);
      return;
    }
    expect([status, code]).toEqual([201, undefined]);
    model.force(this.#player).run_id = String(data['run_id']);
  }
}

export class Tick extends Base {
  readonly #minutes: number | undefined;

  constructor(minutes: number | undefined) {
    super('tick', minutes ?? 'to the next that is due');
    this.#minutes = minutes;
  }

  override check(model: Readonly<Model>): boolean {
    return this.#minutes !== undefined || model.nextDue() !== undefined;
  }

  override act(model: Model, { stage }: Scene): Promise<void> {
    const next_ms = model.nextDue() ?? stage.now_ms;
    stage.now_ms = this.#minutes === undefined ? next_ms : stage.now_ms + this.#minutes * MINUTE_MS;
    model.now_ms = stage.now_ms;
    return Promise.resolve();
  }
}

class Pause extends Base {
  readonly #hold: boolean;

  constructor(hold: boolean) {
    super(hold ? 'hold' : 'pause');
    this.#hold = hold;
  }

  override check({ status }: Readonly<Model>): boolean {
    return status === 'active';
  }

  override async act(model: Model, { stage, journey_id }: Scene): Promise<void> {
    model.pause(this.#hold);
    await stage.post(`/v1/journeys/${journey_id}/pause`, { hold: this.#hold });
  }
}

class Resume extends Base {
  readonly #resume: 'run' | 'skip';

  constructor(resume: 'run' | 'skip') {
    super('resume', resume);
    this.#resume = resume;
  }

  override check({ status }: Readonly<Model>): boolean {
    return status === 'paused';
  }

  override async act(model: Model, { stage, journey_id }: Scene): Promise<void> {
    model.activate(this.#resume);
    await stage.post(`/v1/journeys/${journey_id}/activate`, { resume: this.#resume });
  }
}

class Cancel extends Base {
  readonly #run: number;

  constructor(run: number) {
    super('cancel', run);
    this.#run = run;
  }

  override check({ runs }: Readonly<Model>): boolean {
    return runs.length > 0;
  }

  override async act(model: Model, { stage, journey_id }: Scene): Promise<void> {
    const run = model.runs[this.#run % model.runs.length];
    if (run?.run_id === undefined) throw new Error('the model has a run that the service does not have');
    const { status, code } = await stage.client.api(
      'POST',
      `/v1/journeys/${journey_id}/runs/${run.run_id}/cancel`,
    );
    const has_ended = run.status === 'completed';
    expect([status, code]).toEqual(has_ended ? [409, 'JOURNEY_RUN_INVALID_STATUS'] : [200, undefined]);
    model.cancel(run, stage.user_id);
  }
}

class Publish extends Base {
  readonly #shape: number;

  constructor(shape: number) {
    super('publish', shape);
    this.#shape = shape;
  }

  override async act(model: Model, { stage, journey_id }: Scene): Promise<void> {
    model.save(this.#shape);
    const data = await stage.post(
      `/v1/journeys/${journey_id}`,
      { graph: stage.graphOf(this.#shape) },
      'PATCH',
    );
    expect(data['version']).toBe(model.versions.length);
  }
}

type MigrationTerms = Omit<Migration, 'map'> & { exchanges: boolean };

/** What a migration exchanges: a run may so come to nodes a second time. */
const EXCHANGED = [
  ['w', 'w2'],
  ['w2', 'w'],
  ['ask', 'again'],
  ['again', 'ask'],
] as const;

class Migrate extends Base {
  readonly #from: number;
  readonly #to: number;
  readonly #how: MigrationTerms;

  constructor(from: number, to: number, how: MigrationTerms) {
    super('migrate', from, to, how);
    this.#from = from;
    this.#to = to;
    this.#how = how;
  }

  override check({ versions }: Readonly<Model>): boolean {
    return this.#from % versions.length !== this.#to % versions.length;
  }

  override async act(model: Model, { stage, journey_id }: Scene): Promise<void> {
    const count = model.versions.length;
    const [from_version, to_version] = [(this.#from % count) + 1, (this.#to % count) + 1];
    const moved = model.running.filter(({ version }) => version === from_version);
    const { exchanges, ...how } = this.#how;
    const map = model.pairsOf(from_version, to_version, exchanges ? EXCHANGED : []);
    model.migrate(from_version, to_version, { ...how, map });
    const data = await stage.post(`/v1/journeys/${journey_id}/migrate-runs`, {
      from_version,
      to_version,
      ...how,
      node_map: Object.fromEntries(map),
    });
    const count_of = (is: (run: (typeof moved)[number]) => boolean) => moved.filter(is).length;
    expect(data).toMatchObject({
      moved: count_of(({ version }) => version === to_version),
      exited: count_of(({ status }) => status !== 'running'),
    });
  }
}

class Merge extends Base {
  readonly #from: number;
  readonly #into: number;

  constructor(from: number, into: number) {
    super('merge', from, into);
    this.#from = from;
    this.#into = into;
  }

  override check(model: Readonly<Model>): boolean {
    const { players } = model;
    return players[this.#from]?.into === undefined && model.isClear(this.#from, this.#into);
  }

  override async act(model: Model, { stage, devices, accounts, player_ids }: Scene): Promise<void> {
    const external_id = accounts[this.#into];
    const anonymous_id = devices[this.#from];
    if (external_id === undefined || anonymous_id === undefined) throw new Error('unreachable');
    model.merge(this.#from, this.#into);
    expect(await stage.identify({ anonymous_id, external_id })).toBe(player_ids[this.#into]);
  }
}

/** The last attempt of a run's webhook is over: the result is written as the deliverer does, which may stop, too. */
class AnswerCall extends Base {
  readonly #run: number;
  readonly #answer: Answer;

  constructor(run: number, answer: Answer) {
    super('answer', run, answer);
    this.#run = run;
    this.#answer = answer;
  }

  override check(model: Readonly<Model>): boolean {
    return this.#open(model).length > 0;
  }

  override act(model: Model, { stage }: Scene): Promise<void> {
    const open = this.#open(model);
    const run = open[this.#run % open.length];
    if (run?.run_id === undefined) throw new Error('unreachable');
    model.answer(run, 'crm', this.#answer);
    return stage.answer(run.run_id, 'crm', this.#answer === 'failed' ? GONE : undefined);
  }

  #open({ runs }: Readonly<Model>) {
    return runs.filter(({ calls }) => calls.get('crm') === 'pending');
  }
}

/** The processors stop there, while they do what follows from later commands; some of what they have read comes again. */
class Crash extends Base {
  readonly #point: CrashPoint;
  readonly #rewind: number;

  constructor(point: CrashPoint, rewind: number) {
    super('crash', point, rewind);
    this.#point = point;
    this.#rewind = rewind;
  }

  override act(_model: Model, { stage }: Scene): Promise<void> {
    stage.points.push({ ...this.#point });
    if (this.#rewind > 0) stage.rewind(BigInt(this.#rewind));
    return Promise.resolve();
  }
}

const player = fc.nat(HAVE_ACCOUNTS.length - 1);
const first = fc.constantFrom('triggers', 'matcher');
const event = (name: JourneyEvent) => fc.tuple(player, first).map((given) => new Event(name, ...given));
const shape = fc.nat(SHAPES.length - 1);
const withAccount = fc.constantFrom(...HAVE_ACCOUNTS.flatMap((has, i) => (has ? [i] : [])));
const withoutAccount = fc.constantFrom(...HAVE_ACCOUNTS.flatMap((has, i) => (has ? [] : [i])));

/** The commands; some are drawn more often. */
export const COMMANDS: fc.Arbitrary<Command>[] = [
  event('custom_go'),
  event('custom_answer'),
  event('custom_answer'),
  event('custom_leave'),
  event('self_exclusion_set'),
  ...[0, 1, 2].map(() => player.map((one) => new Trigger(one))),
  ...[0, 1, 2].map(() => fc.constant(undefined).map(() => new Tick(undefined))),
  fc.integer({ min: 1, max: 150 }).map((minutes) => new Tick(minutes)),
  fc.constant(false).map((hold) => new Pause(hold)),
  fc.constant(true).map((hold) => new Pause(hold)),
  fc.constantFrom('run', 'run', 'skip').map((resume) => new Resume(resume)),
  fc.nat(9).map((run) => new Cancel(run)),
  shape.map((one) => new Publish(one)),
  shape.map((one) => new Publish(one)),
  ...[0, 1].map(() =>
    fc
      .tuple(
        fc.nat(3),
        fc.nat(3),
        fc.record({
          unmapped: fc.constantFrom('stay', 'exit'),
          recompute_waits: fc.boolean(),
          exchanges: fc.boolean(),
        }),
      )
      .map((given) => new Migrate(...given)),
  ),
  fc.tuple(withoutAccount, withAccount).map(([from, into]) => new Merge(from, into)),
  ...[0, 1].map(() =>
    fc
      .tuple(fc.nat(9), fc.constantFrom('delivered', 'delivered', 'failed'))
      .map((given) => new AnswerCall(...given)),
  ),
  ...[0, 1, 2].map(() =>
    fc
      .tuple(
        fc.record({ after: fc.nat(30), kind: fc.constantFrom('process', 'connection') }),
        fc.constantFrom(0, 0, 1, 4),
      )
      .map((given) => new Crash(...given)),
  ),
];
