import type { ReactNode } from 'react';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { HarmWarning } from '../../ui/harm-warning.tsx';
import { useTools } from './builder-context.ts';
import css from './builder.module.css';
import { FORMS } from './condition-forms.tsx';
import { Choice } from './controls.tsx';
import { firstCondition, formOf, isFrozen } from './forms.ts';
import {
  added,
  changed,
  duplicated,
  GROUP_OPERATORS,
  hasRoom,
  isGroup,
  isRaw,
  moved,
  newGroup,
  newLeaf,
  nextOf,
  operated,
  parentOf,
  removed,
  textOf,
  type Group,
  type GroupOperator,
  type Leaf,
  type Node,
  type Raw,
} from './tree.ts';
import type { Written } from './vocabulary.ts';
import { sayCondition } from './words.ts';

const m = t.segments.build;

interface PartProps<N extends Node> {
  node: N;
  path: string;
}

/** A group, a condition, or a part as JSON, with what the service says about it. */
export function Part({ node, path, depth }: PartProps<Node> & { depth: number }) {
  if (isGroup(node)) return <GroupPart node={node} path={path} depth={depth} />;
  return isRaw(node) ? <RawPart node={node} path={path} /> : <LeafPart node={node} path={path} />;
}

function GroupPart({ node, path, depth }: PartProps<Group> & { depth: number }) {
  const { vocabulary, change } = useTools();
  const { id, operator, children } = node;
  const add = (child: Node) => change((root) => added(root, id, child), { focus: () => ({ id: child.id }) });
  const has_room = hasRoom(node);
  const first = vocabulary.condition_types[0] ?? 'trait';
  return (
    <div role="group" aria-label={m.group(children.length)} className={css['group']} data-node={id}>
      <div className={css['head']}>
        <Choice
          label={m.groupOperator}
          value={operator}
          choices={GROUP_OPERATORS.map((one) => [one, m.groupOperators[one]])}
          onChoose={(next) => change((root) => operated(root, id, next as GroupOperator))}
        />
        {depth === 1 ? null : <Tools node={node} />}
      </div>
      <Issues path={path} />
      {children.length === 0 ? <p className={css['soft']}>{m.empty}</p> : null}
      {children.map((child, i) => (
        <Part key={child.id} node={child} path={`${path}.conditions.${i}`} depth={depth + 1} />
      ))}
      {has_room ? (
        <div className={css['head']}>
          <Button onClick={() => add(newLeaf(firstCondition(first, vocabulary)))} data-add="condition">
            {m.addCondition}
          </Button>
          {depth >= vocabulary.limits.depth ? null : (
            <Button
              kind="quiet"
              onClick={() => {
                const leaf = newLeaf(firstCondition(first, vocabulary));
                const group = newGroup(operator === 'AND' ? 'OR' : 'AND', [leaf]);
                change((root) => added(root, id, group), { focus: () => ({ id: leaf.id }) });
              }}
            >
              {m.addGroup}
            </Button>
          )}
        </div>
      ) : null}
    </div>
  );
}

function LeafPart({ node, path }: PartProps<Leaf>) {
  const { vocabulary, sayer, segments, change } = useTools();
  const { id, written } = node;
  const type = String(written['type']);
  // Without a frozen segment there is no list to ask for.
  const types = vocabulary.condition_types.filter(
    (one) => one !== 'list' || one === type || segments.some(isFrozen),
  );
  const Form = FORMS[type];
  const set = (next: Written, key: string) =>
    change((root) => changed(root, id, () => ({ id, written: without(next) })), { tag: `${id} ${key}` });
  return (
    <Card node={node} path={path} label={m.condition(sayCondition(written, sayer))}>
      <Choice
        label={m.type}
        value={type}
        choices={types.map((one) => [one, m.types[one] ?? one])}
        onChoose={(next) => set(firstCondition(next, vocabulary, segments), 'type')}
      />
      {Form === undefined ? null : <Form key={type} written={written} onWritten={set} />}
    </Card>
  );
}

/** Keys whose value is undefined are omitted from JSON; here, too, so that equal conditions are equal. */
function without(written: Written): Written {
  return Object.fromEntries(Object.entries(written).filter(([, value]) => value !== undefined));
}

function RawPart({ node, path }: PartProps<Raw>) {
  const { vocabulary, currency, change } = useTools();
  const { id, text } = node;
  const form = formOf(text, vocabulary, currency?.scale ?? 0);
  const setText = (next: string) =>
    change((root) => changed(root, id, () => ({ id, text: next })), { tag: `${id} text` });
  const asForm = () => {
    if (form === undefined) return;
    change((root) => changed(root, id, () => ({ ...form, id })), { focus: () => ({ id }) });
  };
  return (
    <Card node={node} path={path} label={m.part}>
      <textarea
        aria-label={m.part}
        rows={Math.min(16, text.split('\n').length + 1)}
        value={text}
        spellCheck={false}
        onChange={({ target }) => setText(target.value)}
      />
      <span className={css['soft']}>{m.partHelp}</span>
      <Button kind="quiet" disabled={form === undefined} onClick={asForm}>
        {m.asForm}
      </Button>
    </Card>
  );
}

/** The frame of a condition: its control, how many players it matches alone, and what can be done with it. */
function Card({
  node,
  path,
  label,
  children,
}: {
  node: Node;
  path: string;
  label: string;
  children: ReactNode;
}) {
  const { sizes } = useTools();
  const size = sizes.get(path);
  return (
    <div role="group" aria-label={label} className={css['card']} data-node={node.id}>
      <div className={css['controls']}>{children}</div>
      <Issues path={path} />
      <Harm path={path} />
      <div className={css['head']}>
        <span className={css['soft']} data-size={path}>
          {size === undefined ? '' : m.alone(size)}
        </span>
        <Tools node={node} />
      </div>
    </div>
  );
}

/** Moves, copies and removes a node; everything that a mouse could drag is a button. */
function Tools({ node }: { node: Node }) {
  const { change } = useTools();
  const { id } = node;
  const move = (by: -1 | 1, act: 'up' | 'down') =>
    change((root) => moved(root, id, by), { focus: () => ({ id, act }) });
  return (
    <span className={css['tools']}>
      <Button kind="quiet" aria-label={m.up} data-act="up" onClick={() => move(-1, 'up')}>
        ↑
      </Button>
      <Button kind="quiet" aria-label={m.down} data-act="down" onClick={() => move(1, 'down')}>
        ↓
      </Button>
      <Button
        kind="quiet"
        onClick={() =>
          change((root) => duplicated(root, id), { focus: (_, after) => ({ id: nextOf(after, id)?.id }) })
        }
      >
        {m.copy}
      </Button>
      {isRaw(node) ? null : (
        <Button
          kind="quiet"
          onClick={() => change((root) => changed(root, id, textOf), { focus: () => ({ id }) })}
        >
          {m.asJson}
        </Button>
      )}
      <Button
        kind="quiet"
        onClick={() =>
          // The group that the node was in stays.
          change((root) => removed(root, id), { focus: (before) => ({ id: parentOf(before, id)?.id }) })
        }
      >
        {m.remove}
      </Button>
    </span>
  );
}

/** Says that the condition selects players by a sign of harm; it can be saved all the same. */
function Harm({ path }: { path: string }) {
  const warning = useTools().warnings.get(path);
  return (
    <div role="status">
      {warning === undefined ? null : <HarmWarning code={warning.code} message={warning.message} />}
    </div>
  );
}

/** What the service refuses at this node. */
function Issues({ path }: { path: string }) {
  const issues = useTools().issues.get(path) ?? [];
  if (issues.length === 0) return null;
  return (
    <div role="alert" aria-label={m.issues} className={css['issues']}>
      <ul>
        {issues.map(({ path: at, message }) => {
          const key = at.slice(path.length + 1);
          return (
            <li key={`${at} ${message}`}>
              {key === '' ? null : <code>{key}</code>} {message}
            </li>
          );
        })}
      </ul>
    </div>
  );
}
