import type { Issue } from '@player-engagement/client/admin';
import { t } from '../../messages/t.ts';
import type { Draft } from './draft.ts';
import { unfinished, walk, type Node } from './tree.ts';

const m = t.segments.build;

/** Something that keeps a draft from being sent; the path is that of the service's own issues. */
export interface LocalIssue extends Issue {
  why: 'empty' | 'text' | 'field';
}

/** What is missing or unreadable in a draft. Everything else is judged by the service. */
export function localIssues({ name, refresh_strategy, interval, root }: Draft): LocalIssue[] {
  const fields: LocalIssue[] = [];
  if (name.trim() === '') fields.push({ path: 'name', message: m.required, why: 'field' });
  if (refresh_strategy === 'scheduled' && !/^[1-9]\d{0,6}$/.test(interval)) {
    fields.push({ path: 'refresh_interval_minutes', message: m.whole, why: 'field' });
  }
  const messages = { empty: m.empty, text: m.notJson };
  return [...fields, ...unfinished(root).map(({ path, why }) => ({ path, why, message: messages[why] }))];
}

/** The issues of a definition by the path of the deepest node that each of them is about. */
export function issuesByNode(root: Node, issues: readonly Issue[]): Map<string, Issue[]> {
  const paths = [...walk(root)].map(({ path }) => path).toSorted((a, b) => b.length - a.length);
  const found = new Map<string, Issue[]>();
  for (const issue of issues) {
    const at = paths.find((path) => issue.path === path || issue.path.startsWith(`${path}.`));
    if (at === undefined) continue;
    const others = found.get(at) ?? [];
    // The size and the saving may refuse the same thing.
    if (!others.some(({ path, message }) => path === issue.path && message === issue.message))
      found.set(at, [...others, issue]);
  }
  return found;
}
