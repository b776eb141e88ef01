import type { CreateSegmentBody } from '@player-engagement/client/admin';
import type { Example } from '../../format/example.ts';
import { t } from '../../messages/t.ts';

const m = t.examples.segments;
const DEPOSIT = { type: 'event', event: 'deposit_confirmed' } as const;

const of = (words: { title: string; text: string }, conditions: object[]): Example<CreateSegmentBody> => ({
  ...words,
  body: {
    name: words.title,
    description: words.text,
    refresh_strategy: 'manual',
    definition: { operator: 'AND', conditions },
  },
});

/** Three segments to begin with; they are computed when somebody asks for it. */
export const EXAMPLES = [
  of(m.new, [
    { type: 'trait', field: 'created_at', op: 'within_last', value: { days: 3 } },
    { ...DEPOSIT, aggregate: 'count', op: 'eq', value: 0 },
  ]),
  of(m.lapsed, [
    { ...DEPOSIT, aggregate: 'count', op: 'gte', value: 3 },
    { ...DEPOSIT, aggregate: 'last_seen', op: 'not_within_last', value: { days: 30 } },
  ]),
  of(m.high, [
    {
      ...DEPOSIT,
      aggregate: 'sum',
      property: 'amount',
      op: 'gte',
      value: 50_000,
      window: { last: { days: 30 } },
    },
  ]),
];
