import {
  CaseTag,
  Context,
  CycleTag,
  defaultOperators,
  Drop,
  evalToken,
  Filter,
  ForTag,
  type Hash,
  TablerowTag,
  TokenKind,
  toValue,
  TypeGuards,
  type Emitter,
  type Liquid,
  type Template,
} from 'liquidjs';
import { ExactNumber } from '../../platform/exact-json.ts';
import { plainOf, withCurrencyOf } from './amount.ts';
import { Decimal, exactOf, readNumber } from './decimals.ts';
import { chargeComparison, chargeElements, chargeSearch, chargeValue, keyCount, nodeCost } from './work.ts';

type Operators = NonNullable<ConstructorParameters<typeof Liquid>[0]>['operators'];
type BinaryOperator = (left: unknown, right: unknown, ctx: Context) => unknown;

/** The tags that templates may use. Those that read other templates are not supported. */
export const TAGS: readonly string[] =
  'assign break capture case comment continue cycle decrement echo for if increment liquid raw tablerow unless #'.split(
    ' ',
  );

/** Names a bound of a range in {@link BoundedContext}. */
const LOW = Symbol('the lower bound of a range');
const HIGH = Symbol('the upper bound of a range');
/** Above it, adding one to a number may change nothing, and a range would not end. */
const MAX_BOUND = 2 ** 50;
/** Charged for each element of a range, besides the unit that liquidjs counts. */
const RANGE_ELEMENT = 2;

/**
 * A context that charges for what reading a variable costs, gives amounts the currency that they have, and returns usable
 * bounds of ranges.
 */
export class BoundedContext extends Context {
  #low = 0;
  /** What the last part of a path was read from. */
  #holder: unknown;

  override *_get(path: Parameters<Context['_get']>[0]): IterableIterator<unknown> {
    const [first, value] = path as unknown[];
    if (first === LOW) return (this.#low = this.#boundOf(value));
    if (first === HIGH) {
      const high = this.#boundOf(value);
      try {
        this.memoryLimit.use((high - this.#low + 1) * RANGE_ELEMENT);
      } catch {
        // liquidjs refuses such a range itself, with the position of the tag.
        return Infinity;
      }
      return high;
    }
    const read: unknown = yield* super._get(path);
    // A variable of the template itself, and what is read from the player, has no currency: the totals of a player are in
    // the base currency, even if the attribute `currency` names another.
    return (path as unknown[]).length < 2 || this.#isOfPlayer(this.#holder)
      ? read
      : withCurrencyOf(this.#holder, read);
  }

  #isOfPlayer(object: unknown): boolean {
    const { player } = this.environments as { player?: { custom_attributes?: unknown } | null };
    return object === player || object === player?.custom_attributes;
  }

  override readProperty(holder: unknown, key: Parameters<Context['readProperty']>[1]): unknown {
    const object = plainOf(holder);
    this.#holder = object;
    const is_plain =
      typeof object === 'object' && object !== null && !Array.isArray(object) && !(object instanceof Drop);
    if (key === 'size' && is_plain && !Object.hasOwn(object, 'size')) return keyCount(object);
    const value: unknown = super.readProperty(object as never, key);
    if (value instanceof ExactNumber) return exactOf(value);
    return Array.isArray(value) ? this.#exactList(value) : value;
  }

  /** The list with numbers that can be compared and computed with; the same list where it has no other ones. */
  #exactList(list: readonly unknown[]): readonly unknown[] {
    const known = exact_lists.get(list);
    if (known !== undefined) return known;
    const elements = list.map((element) => {
      if (element instanceof ExactNumber) return exactOf(element);
      return Array.isArray(element) ? this.#exactList(element) : element;
    });
    const is_same = elements.every((element, at) => element === list[at]);
    if (!is_same) chargeElements(this.memoryLimit, list);
    const exact = is_same ? list : elements;
    exact_lists.set(list, exact);
    return exact;
  }

  override spawn(scope: object = {}): Context {
    const { opts, sync, globals, strictVariables, ownPropertyOnly, renderLimit, memoryLimit, liquid } = this;
    const options = { sync, globals, strictVariables, ownPropertyOnly };
    return new BoundedContext(scope, opts, options, { renderLimit, memoryLimit, liquid: liquid as unknown });
  }

  /** A number that a range may begin or end with; NaN, which makes the range empty, for any other value. */
  #boundOf(value: unknown): number {
    chargeValue(this.memoryLimit, value);
    const bound = Number(value);
    return Math.abs(bound) <= MAX_BOUND ? bound : Number.NaN;
  }
}

/** The lists that were read, with their exact numbers. Lists do not change while a message is rendered. */
const exact_lists = new WeakMap<readonly unknown[], readonly unknown[]>();

/** A text as the number that it is, where it is compared with a bigint: JavaScript reads integers alone there. */
function asComparedWith(other: unknown, value: unknown): unknown {
  if (typeof toValue(other) !== 'bigint') return value;
  return typeof toValue(value) === 'string' ? readNumber(value) : value;
}

const ORDER = new Set(['<', '>', '<=', '>=']);

/** The operators of conditions, charged for the length of what they compare. */
export function boundOperators(): Operators {
  const bounded = Object.entries(defaultOperators).map(([name, operator]) => {
    if (name === 'not' || name === 'and' || name === 'or') return [name, operator] as const;
    const charge = name === 'contains' ? chargeSearch : chargeComparison;
    const compare: BinaryOperator = (left, right, ctx) => {
      charge(ctx.memoryLimit, left, right);
      return ORDER.has(name)
        ? (operator as BinaryOperator)(asComparedWith(right, left), asComparedWith(left, right), ctx)
        : (operator as BinaryOperator)(left, right, ctx);
    };
    return [name, compare] as const;
  });
  const named = Object.fromEntries(bounded) as NonNullable<Operators>;
  // Liquid has two names for it.
  return { ...named, '<>': named['!='] } as Operators;
}

/** Charges for copying the list that a loop runs over; a range is charged when it is made. */
function* chargeLoop(collection: unknown, ctx: Context): Generator<unknown, void, unknown> {
  if (!TypeGuards.isRangeToken(collection)) {
    chargeElements(ctx.memoryLimit, yield evalToken(collection as never, ctx));
  }
}

/** The settings of a loop as numbers: a count that is not a safe integer is more than any list has, and not a bigint. */
function countable(settings: Hash): void {
  const render = settings.render.bind(settings);
  settings.render = function* counts(ctx) {
    const values = (yield render(ctx)) as Record<string, unknown>;
    for (const [name, value] of Object.entries(values)) {
      const plain: unknown = toValue(value);
      if (typeof plain === 'bigint') values[name] = Number(plain);
    }
    return values;
  };
}

class BoundedFor extends ForTag {
  constructor(...given: ConstructorParameters<typeof ForTag>) {
    super(...given);
    countable(this.hash);
  }

  override *render(ctx: Context, emitter: Emitter): ReturnType<ForTag['render']> {
    yield* chargeLoop(this.collection, ctx);
    return yield* super.render(ctx, emitter);
  }
}

class BoundedTablerow extends TablerowTag {
  constructor(...given: ConstructorParameters<typeof TablerowTag>) {
    super(...given);
    countable(this.args);
  }

  override *render(ctx: Context, emitter: Emitter): ReturnType<TablerowTag['render']> {
    yield* chargeLoop(this.collection, ctx);
    yield* super.render(ctx, emitter);
  }
}

class BoundedCase extends CaseTag {
  override *render(ctx: Context, emitter: Emitter): ReturnType<CaseTag['render']> {
    const target: unknown = toValue(yield this.value.value(ctx, ctx.opts.lenientIf));
    const values = this.branches.reduce((sum, branch) => sum + branch.values.length, 0);
    chargeComparison(ctx.memoryLimit, target, undefined, values);
    yield* super.render(ctx, emitter);
  }
}

class BoundedCycle extends CycleTag {
  override *render(ctx: Context, emitter: Emitter): ReturnType<CycleTag['render']> {
    // The name of the group becomes a part of a text.
    const { group } = this as unknown as { group?: never };
    chargeValue(ctx.memoryLimit, yield evalToken(group, ctx));
    return yield* super.render(ctx, emitter);
  }
}

/** Leaves the engine with the allowed tags alone, and charges for each node before it is rendered. */
export function boundTags(engine: Liquid): void {
  for (const name of Object.keys(engine.tags)) if (!TAGS.includes(name)) delete engine.tags[name];
  engine.registerTag('for', BoundedFor);
  engine.registerTag('tablerow', BoundedTablerow);
  engine.registerTag('case', BoundedCase);
  engine.registerTag('cycle', BoundedCycle);
}

const costs = new WeakMap<Template, number>();
const costs_of_lists = new WeakMap<readonly Template[], number>();

/** The cost of rendering these nodes once, without what is inside of them. {@link prepare} has been called for them. */
export function costOf(templates: readonly Template[]): number {
  const known = costs_of_lists.get(templates);
  if (known !== undefined) return known;
  const cost = templates.reduce((sum, node) => sum + (costs.get(node) ?? nodeCost(0)), nodeCost(0));
  costs_of_lists.set(templates, cost);
  return cost;
}

/** Fields that lead out of a node, or repeat what is in another field. */
const NOT_PARTS = new Set(['liquid', 'tokenizer', 'input', 'token', 'file', 'handler']);

/**
 * Counts the parts of each node of a parsed template, from which its cost follows, makes the bounds of ranges pass
 * through {@link BoundedContext}, and reads its numbers exactly. Call it once, after the template was analysed.
 */
export function prepare(templates: readonly Template[]): void {
  const seen = new Set<object>();
  const partsOf = (value: unknown): number => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return 0;
    seen.add(value);
    if (isNode(value)) {
      costs.set(value, nodeCost(fieldsOf(value)));
      return 0;
    }
    const parts = (Array.isArray(value) ? 0 : 1) + fieldsOf(value);
    if (TypeGuards.isNumberToken(value)) value.content = literalOf(value.getText(), value.content) as never;
    if (TypeGuards.isRangeToken(value)) {
      value.lhs = boundToken(value, LOW, value.lhs) as never;
      value.rhs = boundToken(value, HIGH, value.rhs) as never;
    }
    return parts;
  };
  const fieldsOf = (value: object): number => {
    let parts = 0;
    for (const [name, field] of Object.entries(value)) if (!NOT_PARTS.has(name)) parts += partsOf(field);
    return parts;
  };
  partsOf([...templates]);
}

/** The number that a template has written: with a decimal point a decimal, else an integer of any size. */
function literalOf(text: string, double: number): unknown {
  if (text.includes('.')) return new Decimal(double);
  return Number.isSafeInteger(double) || !Number.isFinite(double) ? double : BigInt(text);
}

function isNode(value: object): value is Template {
  return (
    !(value instanceof Filter) && 'render' in value && typeof value.render === 'function' && 'token' in value
  );
}

/** A token that reads the bound through the context. The range is its prototype, for positions in errors. */
function boundToken(range: object, bound: symbol, original: unknown): object {
  const props = [{ content: bound }, original];
  return Object.assign(Object.create(range) as object, {
    kind: TokenKind.PropertyAccess,
    props,
    variable: undefined,
  });
}
