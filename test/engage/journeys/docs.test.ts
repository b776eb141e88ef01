import { expect, it } from 'vitest';
import { FAULTS, REFERENCE_FAULTS, WARNINGS } from '../../../src/engage/journeys/graph/issues.ts';
import {
  NODE_SCHEMAS,
  NODE_TYPES,
  WAIT_UNTIL_SCHEMAS,
} from '../../../src/engage/journeys/graph/node-schemas.ts';
import { readJourney } from '../../../src/engage/journeys/graph/read-journey.ts';
import type { NodeType, Trigger } from '../../../src/engage/journeys/graph/shapes.ts';
import { code, expectSections, table } from '../../doc-sections.ts';

// docs/journeys.md repeats facts of the code; this test compares them. UPDATE_GOLDEN=1 writes its generated sections.

const DAY_MS = 86_400_000;

const EXAMPLE = {
  name: 'Second deposit',
  trigger: { kind: 'event', event: 'deposit_confirmed' },
  settings: { re_entry: { mode: 'once' }, goal: { event: 'deposit_confirmed', window_days: 7, exit: true } },
  graph: {
    start_node_id: 'two-days',
    nodes: [
      { id: 'two-days', type: 'wait', duration_ms: 2 * DAY_MS, next: 'morning' },
      { id: 'morning', type: 'wait_until', local_time: '10:00', timezone: 'player', next: 'email' },
      {
        id: 'email',
        type: 'send_message',
        template_id: '6f2b7c1e-8f3a-4f0e-9a53-0d7c55c0a001',
        provider_id: '6f2b7c1e-8f3a-4f0e-9a53-0d7c55c0a002',
        next: 'answer',
      },
      {
        id: 'answer',
        type: 'wait_for_event',
        event: 'deposit_confirmed',
        timeout_ms: 3 * DAY_MS,
        next: 'end',
        timeout_next: 'inform-crm',
      },
      {
        id: 'inform-crm',
        type: 'call_webhook',
        url: 'https://crm.example.com/hooks/second-deposit',
        next: 'end',
      },
      { id: 'end', type: 'end' },
    ],
  },
};

const TRIGGERS: Record<Trigger['kind'], string> = {
  event: 'an `event` of the player that satisfies `where` (optional)',
  segment_entered:
    'entering the segment `segment_id`; `existing_members` also starts a run for the members at the activation, once per journey',
  segment_exited: 'leaving the segment `segment_id`',
  schedule: 'a time of `cron` (five fields) in `timezone`, for each member of `segment_id`',
  api: 'only `POST /v1/journeys/:id/trigger`, which also starts a run of every other active journey',
};

const NODES: Record<NodeType, string> = {
  wait: 'waits for a time',
  wait_until:
    'waits until a local time of day, a window of the day, or a moment from the context or the player; `past`: `continue` or `exit`',
  wait_for_event: 'waits for an event of the player; without it the run continues at `timeout_next`',
  branch:
    'continues at the first branch whose condition holds: a segment condition, or `{"where": …}` over the context',
  split: 'continues at one of the branches by weight; a player gets the same branch in every version',
  send_message: 'sends a message through the message gate; `quiet_hours`: `skip` or `defer`',
  update_player: 'sets custom attributes of the player; null removes one',
  grant_bonus:
    'grants a bonus with all checks of a grant; a refusal fails the step with its code. `deposit_amount` may be a path',
  call_webhook: 'calls your server; strings in `data` are Liquid; `save_as` keeps the answer',
  end: 'ends the run',
};

const SETTINGS: readonly (readonly [string, string])[] = [
  ['re_entry.mode', '`always` (default), `once`, or `after_exit`: not while the player has a running run'],
  ['re_entry.min_interval_ms', 'the time after the start of a run in which the player cannot enter again'],
  ['exit_on', 'at most ten `{"event", "where"}` or `{"segment_exited": <segment>}` that end a run at once'],
  [
    'goal',
    '`{"event", "where", "window_days", "exit"}`: the purpose of the journey; `exit` (default) ends the run',
  ],
  ['holdout_percent', 'the share of players whose runs end at once without effects, as a control group'],
  [
    'max_entries_per_hour',
    'members of a segment above it wait; events above it start no run; held-out runs do not count',
  ],
];

const FAULT_MEANINGS: Record<(typeof FAULTS)[number], string> = {
  TOO_MANY_NODES: 'more than 50 nodes',
  NO_NODES: 'no node',
  DUPLICATE_NODE_ID: 'two nodes have the same id',
  START_NODE_MISSING: '`start_node_id` names no node',
  NEXT_NODE_MISSING: 'an edge names no node',
  CYCLE: 'a run could reach a node twice',
  UNKNOWN_NODE_TYPE: 'no such type of node',
  FIELD_REQUIRED: 'a field is missing',
  FIELD_INVALID: 'a field has a value that is not valid',
  EMPTY_CONDITION: 'a filter or condition without content',
  CLOCK_CONDITION: '`within_last` where nothing evaluates it again as time passes',
  WEIGHTS_INVALID: 'the weights of a split are not valid',
  UNKNOWN_EVENT: 'the event is not in the catalogue and does not begin with `custom_`',
  URL_NOT_ALLOWED: 'the URL is not allowed for webhooks',
};

/** The fields of a node's schemas that are its own; optional ones with a question mark. */
function fieldsOf(type: NodeType): string {
  const schemas = type === 'wait_until' ? Object.values(WAIT_UNTIL_SCHEMAS) : [NODE_SCHEMAS[type]];
  const common = new Set(['id', 'name', 'type', 'next']);
  const alternatives = schemas.map((schema) =>
    Object.entries(schema.shape)
      .filter(([key]) => !common.has(key))
      .map(([key, field]) => `${key}${field.safeParse(undefined).success ? '?' : ''}`)
      .map(code)
      .join(', '),
  );
  return alternatives.join('; or ');
}

const listed = (codes: readonly string[]) => codes.map(code).join(', ');

const SECTIONS: Record<string, () => string> = {
  example: () => {
    readJourney(EXAMPLE);
    return `\`\`\`json\n${JSON.stringify(EXAMPLE, null, 2)}\n\`\`\``;
  },
  triggers: () =>
    table(
      ['`kind`', 'What starts a run'],
      Object.entries(TRIGGERS).map(([kind, text]) => [code(kind), text]),
    ),
  nodes: () =>
    table(
      ['`type`', 'What it does', 'Fields'],
      NODE_TYPES.map((type) => [code(type), NODES[type], fieldsOf(type)]),
    ),
  settings: () =>
    table(
      ['Field', 'Meaning'],
      SETTINGS.map(([field, meaning]) => [code(field), meaning]),
    ),
  faults: () =>
    [
      table(
        ['Code', 'Meaning'],
        FAULTS.map((fault) => [code(fault), FAULT_MEANINGS[fault]]),
      ),
      `Only activation refuses these; while a draft is saved, they are \`warnings\`: ${listed(REFERENCE_FAULTS)}. These are always \`warnings\`: ${listed(WARNINGS)}.`,
    ].join('\n\n'),
};

it('docs/journeys.md agrees with the code', () => expectSections('docs/journeys.md', SECTIONS));

it('its settings are those that can be written', () => {
  const [settings] = [{ re_entry: { mode: 'once', min_interval_ms: 1 }, exit_on: [], holdout_percent: 1 }];
  const read = readJourney({ ...EXAMPLE, settings: { ...settings, max_entries_per_hour: 1 } }).settings;
  const named = SETTINGS.map(([field]) => field.split('.')[0] ?? '');
  expect(new Set(Object.keys(read))).toEqual(new Set(named));
});
