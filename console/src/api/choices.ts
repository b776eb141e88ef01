import type { Template } from '@player-engagement/client/admin';

/**
 * The values of a choice of the API, in the order in which they are shown: `everyOf<Status>()(['draft', 'active'])`. One that
 * the API has and the list has not is an error of types, and so is one that the API does not have.
 */
export const everyOf =
  <Value extends string>() =>
  <const List extends readonly Value[]>(
    values: [Value] extends [List[number]]
      ? List
      : readonly Value[] & { misses: Exclude<Value, List[number]> },
  ): readonly Value[] =>
    values;

/** The value that the address of a page or a field names, when it is one of those that are known. */
export function oneOf<T extends string>(known: readonly T[], text: string | undefined): T | undefined {
  return known.find((one) => one === text);
}

/** How messages reach players. */
export type Channel = Template['channel'];
export const CHANNELS = everyOf<Channel>()(['email', 'sms', 'push']);
