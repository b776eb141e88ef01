import type { ReactNode } from 'react';
import { t } from '../../messages/t.ts';
import css from './segments.module.css';
import { isGroup, isRaw, nodeOf, ROOT, type Node } from './tree.ts';
import { sayCondition, type Sayer } from './words.ts';

interface TreeProps {
  definition: unknown;
  sayer: Sayer;
  /** Shown in front of a group or condition, by its path. */
  mark?: (path: string) => ReactNode;
  /** Shown behind it. */
  note?: (path: string) => ReactNode;
}

/** A definition in words. */
export function ReadOnlyTree({ definition, ...rest }: TreeProps) {
  return (
    <ul className={css['tree']}>
      <Part node={nodeOf(definition)} path={ROOT} {...rest} />
    </ul>
  );
}

function Part({ node, path, ...rest }: Omit<TreeProps, 'definition'> & { node: Node; path: string }) {
  const { sayer, mark, note } = rest;
  const said = isGroup(node)
    ? (t.segments.words.groups[node.operator] ?? node.operator)
    : isRaw(node)
      ? node.text.slice(0, 2_000)
      : sayCondition(node.written, sayer);
  return (
    <li>
      {mark?.(path)} <bdi>{said}</bdi> {note?.(path)}
      {isGroup(node) ? (
        <ul>
          {node.children.map((child, i) => (
            <Part key={child.id} node={child} path={`${path}.conditions.${i}`} {...rest} />
          ))}
        </ul>
      ) : null}
    </li>
  );
}
