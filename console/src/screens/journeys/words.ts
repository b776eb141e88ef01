import { formatPercent } from '../../format/number.ts';
import { formatValue } from '../../format/value.ts';
import { t } from '../../messages/t.ts';
import { clausesOf } from './clauses.ts';
import { isObject, listOf, textOf, type Edge, type Written } from './graph.ts';

const m = t.journeys;
const LONGEST = 120;
const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const;

/** The name of a record by its id; the id where the name is not known. */
export type NameOf = (id: string) => string;

const short = (text: string) => (text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text);

/** `2 days 3 hours`; anything but a number as it is written. */
export function spanText(ms: unknown): string {
  if (typeof ms !== 'number' || !Number.isFinite(ms)) return formatValue(ms ?? null);
  let left = Math.abs(ms);
  const parts = UNITS.flatMap(([unit, size]): [number, string][] => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count === 0 ? [] : [[count, unit]];
  });
  return left > 0 || parts.length === 0 ? `${ms} ms` : m.says.span(parts);
}

/** A filter in words: `amount ≥ 5000 and method = "card"`; empty without one. */
export function whereText(where: unknown): string {
  const clauses = clausesOf(where);
  if (clauses === undefined) return short(formatValue(where));
  return short(
    clauses
      .map(({ property, op, value }) => {
        const said = m.says.comparisons[op] ?? op;
        return value === undefined ? `${property} ${said}` : `${property} ${said} ${formatValue(value)}`;
      })
      .join(m.says.and),
  );
}

/** A branch's condition in words. */
export function conditionText(condition: unknown, nameOf: NameOf): string {
  if (!isObject(condition)) return m.says.condition;
  if ('where' in condition) return whereText(condition['where']);
  const { type, field, op, value, segment_id } = condition;
  if (type === 'segment') {
    const name = nameOf(textOf(segment_id));
    return op === 'not_in' ? m.says.notInSegment(name) : m.says.inSegment(name);
  }
  if (type === 'trait') return whereText([{ property: textOf(field), op, value }]);
  return short(formatValue(condition));
}

/** What a node is called: the name that somebody gave it, or what it does. */
export function titleOf(node: Written, nameOf: NameOf): string {
  const name = textOf(node['name']);
  return name === '' ? sayNode(node, nameOf) : name;
}

/** What a node does, in a few words. */
export function sayNode(node: Written, nameOf: NameOf): string {
  const named = (key: string) => nameOf(textOf(node[key])) || m.says.nothing;
  switch (node['type']) {
    case 'wait':
      return m.says.wait(spanText(node['duration_ms']));
    case 'wait_until':
      return sayWaitUntil(node);
    case 'wait_for_event':
      return m.says.event(textOf(node['event']), whereText(node['where']), spanText(node['timeout_ms']));
    case 'branch':
      return m.says.branch(listOf(node, 'branches').length);
    case 'split':
      return m.says.split(listOf(node, 'branches').length);
    case 'send_message':
      return m.says.send(named('template_id'));
    case 'update_player': {
      const traits = isObject(node['set']) ? node['set']['traits'] : undefined;
      return m.says.update(
        isObject(traits) ? Object.keys(traits).join(', ') || m.says.anything : m.says.anything,
      );
    }
    case 'grant_bonus':
      return m.says.grant(named('template_id'));
    case 'call_webhook':
      return m.says.webhook(short(textOf(node['url'])));
    case 'end':
      return m.says.end(textOf(node['reason']));
    default:
      return textOf(node['type']);
  }
}

function sayWaitUntil(node: Written): string {
  const { local_time, window, at, offset_ms, days, timezone } = node;
  const on = Array.isArray(days) ? m.says.onDays(days.map(String).join(', ')) : '';
  const zone = timezone === 'player' ? m.says.playerZone : textOf(timezone);
  if (local_time !== undefined) return m.says.untilTime(textOf(local_time), on, zone);
  if (isObject(window)) return m.says.untilWindow(textOf(window['from']), textOf(window['to']), on, zone);
  const by = typeof offset_ms === 'number' ? offset_ms : 0;
  const offset = by === 0 ? '' : by < 0 ? m.says.before(spanText(-by)) : m.says.after(spanText(by));
  return m.says.untilAt(textOf(at), offset);
}

/** When a way is taken. `node` is the one that it leads away from. */
export function wayText({ kind, branch, path }: Edge, node: Written, nameOf: NameOf): string {
  if (branch === undefined) return kind === 'branch' || kind === 'share' ? '' : m.ways[kind];
  const index = Number(path[1]) + 1;
  const name = textOf(branch['name']);
  if (kind === 'branch') {
    const condition = conditionText(branch['condition'], nameOf);
    return m.ways.branch(name === '' ? condition : `${name} (${condition})`);
  }
  const total = listOf(node, 'branches').reduce((sum, one) => sum + weightOf(one), 0);
  const share = total === 0 ? '—' : formatPercent(weightOf(branch) / total);
  return m.ways.share(name === '' ? m.ways.unnamed(index) : name, share);
}

function weightOf(branch: Written): number {
  return typeof branch['weight'] === 'number' ? branch['weight'] : 0;
}

/** What starts runs, in words. */
export function triggerText(trigger: Written, nameOf: NameOf): string {
  const segment = nameOf(textOf(trigger['segment_id']));
  switch (trigger['kind']) {
    case 'event':
      return m.trigger.event(textOf(trigger['event']), whereText(trigger['where']));
    case 'segment_entered':
      return m.trigger.segment_entered(segment);
    case 'segment_exited':
      return m.trigger.segment_exited(segment);
    case 'schedule':
      return m.trigger.schedule(textOf(trigger['cron']), textOf(trigger['timezone']), segment);
    case 'api':
      return m.trigger.api;
    default:
      return m.trigger.unknown;
  }
}

/** The rules of the settings in words, as names and values; what is not set is omitted. */
export function rulesOf(settings: Written, nameOf: NameOf): (readonly [name: string, value: string])[] {
  const { re_entry, exit_on, goal, holdout_percent, max_entries_per_hour } = settings;
  const again = isObject(re_entry) ? re_entry : { mode: 'always' };
  const mode = textOf(again['mode']);
  const interval =
    again['min_interval_ms'] === undefined ? '' : `, ${m.minInterval(spanText(again['min_interval_ms']))}`;
  const exits = Array.isArray(exit_on) ? exit_on.filter(isObject).map((rule) => exitText(rule, nameOf)) : [];
  return [
    [m.reEntry, `${m.reEntries[mode] ?? mode}${interval}`],
    ...(exits.length === 0 ? [] : [[m.exitOn, exits.join('; ')] as const]),
    ...(isObject(goal)
      ? [
          [
            m.goalEvent,
            m.goalWithin(
              m.trigger.event(textOf(goal['event']), whereText(goal['where'])),
              Number(goal['window_days']),
            ),
          ] as const,
        ]
      : []),
    ...(typeof holdout_percent === 'number' && holdout_percent > 0
      ? [[m.holdout, m.holdoutPercent(holdout_percent)] as const]
      : []),
    ...(typeof max_entries_per_hour === 'number'
      ? [[m.maxEntries, m.maxEntriesHour(max_entries_per_hour)] as const]
      : []),
  ];
}

function exitText(rule: Written, nameOf: NameOf): string {
  return 'segment_exited' in rule
    ? m.exitSegment(nameOf(textOf(rule['segment_exited'])))
    : m.trigger.event(textOf(rule['event']), whereText(rule['where']));
}
