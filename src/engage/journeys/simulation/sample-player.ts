import type { Condition } from '../../../segments/language/conditions.ts';
import { ATTRIBUTE_PREFIX } from '../../../segments/language/fields.ts';
import { SYNTHETIC_PLAYER, type ScopePlayer } from '../../templates/player-scope.ts';
import { matches } from '../graph/where.ts';
import type { Answers } from '../runs/facts.ts';
import type { RunPlayer } from '../runs/facts-queries.ts';
import { isTrue, questionOf, type Asker } from '../runs/questions.ts';

/** A step cannot ask more often: 50 nodes of 10 branches. */
const MAX_ROUNDS = 500;

const TEXTS = ['external_id', 'email', 'phone', 'telegram_id', 'timezone', 'current_tier_code'] as const;

/**
 * The player whom traits describe: custom attributes, and fields of the player by their names. Without an address of its
 * own it has those of the player of previews; without traits it is that player.
 */
export function samplePlayer(traits: Readonly<Record<string, unknown>> | undefined): RunPlayer {
  const { email, phone, external_id, default_currency_code, player_id, custom_attributes } = SYNTHETIC_PLAYER;
  const { timezone, current_tier_code } = SYNTHETIC_PLAYER;
  const addresses = { email, phone, external_id, telegram_id: null };
  const others =
    traits === undefined ? { timezone, current_tier_code } : { timezone: null, current_tier_code: null };
  const texts = TEXTS.map((name) => [name, traits?.[name]] as const).filter(
    ([, value]) => typeof value === 'string',
  );
  const { default_currency_code: currency, status, self_excluded } = traits ?? {};
  return {
    player_id,
    ...addresses,
    ...others,
    ...Object.fromEntries(texts),
    default_currency_code: typeof currency === 'string' ? currency : default_currency_code,
    status: typeof status === 'string' ? status : 'active',
    self_excluded: self_excluded === true,
    is_deleted: false,
    custom_attributes: { ...(traits ?? custom_attributes) },
  };
}

/**
 * What templates read of that player: the player of previews, with the totals and other fields that `traits` has by
 * their names. Numbers of traits may be numbers or decimal texts.
 */
export function sampleScope(traits: Readonly<Record<string, unknown>>): ScopePlayer {
  const given = Object.entries(SYNTHETIC_PLAYER).flatMap(([name, value]) => {
    const trait = traits[name];
    if (NOT_OF_TRAITS.has(name)) return [];
    const is_whole = Number.isSafeInteger(trait) && typeof value === 'string' && /^\d+$/.test(value);
    if (is_whole) return [[name, String(trait)] as const];
    const is_time = name.endsWith('_at') && typeof trait === 'string';
    const is_sound = is_time ? !Number.isNaN(Date.parse(trait)) : typeof trait === typeof value;
    return is_sound ? [[name, trait] as const] : [];
  });
  return { ...SYNTHETIC_PLAYER, ...Object.fromEntries(given) };
}

/** Fields that templates read otherwise. */
const NOT_OF_TRAITS = new Set(['player_id', 'anonymous_ids', 'custom_attributes']);

/**
 * Answers what a run of a sample player asks: conditions over custom attributes, and over the fields that `traits` has,
 * by the player; every other one with false. `note` gets the node of such a question, and what was asked.
 */
export function answerBySample(
  asker: Asker,
  traits: Readonly<Record<string, unknown>>,
  now_ms: number,
  note: (node_id: string, text: string) => void,
): Answers {
  const answers = new Map<string, boolean | bigint>();
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const asked = questionOf({ ...asker, answers }, now_ms);
    if (asked === undefined) return answers;
    if (asked.kind === 'loss') {
      note(asked.node_id, 'what the player has lost was taken as nothing');
      answers.set(asked.node_id, 0n);
      continue;
    }
    const { key, node_id, condition, set } = asked;
    const facts = asker.factsOf(answers);
    const attributes = { ...(facts.player['custom_attributes'] as Record<string, unknown>), ...set };
    const holds = (leaf: Condition) => {
      const known = leafHolds(leaf, traits, attributes, now_ms);
      if (known === undefined) note(node_id, `${named(leaf)} was taken as false`);
      return known ?? false;
    };
    answers.set(key, isTrue(condition, holds));
  }
  return answers;
}

/** Undefined: nothing is known of a sample player about it. */
function leafHolds(
  leaf: Condition,
  traits: Readonly<Record<string, unknown>>,
  attributes: Readonly<Record<string, unknown>>,
  now_ms: number,
): boolean | undefined {
  if (leaf.type !== 'trait') return undefined;
  const { field, comparison } = leaf;
  if (field.startsWith(ATTRIBUTE_PREFIX)) {
    const property = field.slice(ATTRIBUTE_PREFIX.length);
    return matches([{ property, comparison }], attributes, now_ms);
  }
  if (!Object.hasOwn(traits, field)) return undefined;
  return matches([{ property: field, comparison }], traits, now_ms);
}

function named(leaf: Condition): string {
  switch (leaf.type) {
    case 'trait':
      return `the condition over ${leaf.field}, which traits does not have,`;
    case 'event':
      return `the condition over events of the name ${leaf.event}`;
    case 'segment':
      return `the condition over the segment ${leaf.segment_id}`;
    case 'list':
      return `the condition over the list ${leaf.list_id}`;
    case 'sequence':
    case 'message':
    case 'random':
      return `the condition of the type ${leaf.type}`;
  }
}
