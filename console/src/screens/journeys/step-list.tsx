import { useEffect, useRef } from 'react';
import { t } from '../../messages/t.ts';
import { Menu } from '../../ui/menu.tsx';
import { NODE_TYPES, withStep } from './edit-graph.ts';
import { edgesOf, idOf, type Graph, type Step } from './graph.ts';
import css from './journeys.module.css';
import { Outline, type Spot } from './outline.tsx';
import type { JourneyIssue } from './queries.ts';
import { StepForm } from './step-form.tsx';
import { sayNode, titleOf, wayText, type NameOf } from './words.ts';

const m = t.journeys.edit;

interface StepListProps {
  graph: Graph;
  nameOf: NameOf;
  /** By `node <id>`. */
  issues: ReadonlyMap<string, readonly JourneyIssue[]>;
  selected: string | undefined;
  onSelect: (id: string | undefined) => void;
  onGraph: (next: (graph: Graph) => Graph, tag?: string) => void;
}

/** The steps as an indented list. Each opens its form; between them steps are added. */
export function StepList({ graph, nameOf, issues, selected, onSelect, onGraph }: StepListProps) {
  const list = useRef<HTMLDivElement>(null);
  const focus = useRef<string>(undefined);
  useEffect(() => {
    if (selected === undefined) return;
    const card = list.current?.querySelector(`[data-node="${CSS.escape(selected)}"] [data-toggle]`);
    card?.scrollIntoView({ block: 'nearest' });
    // A step that was just added is edited next.
    if (focus.current === selected && card instanceof HTMLElement) card.focus();
    focus.current = undefined;
  }, [selected]);
  const add = (spot: Spot, type: (typeof NODE_TYPES)[number]) => {
    const { graph: grown, id } = withStep(graph, spot, type);
    onGraph(() => grown);
    focus.current = id;
    onSelect(id);
  };
  return (
    <div ref={list}>
      <Outline
        graph={graph}
        nameOf={nameOf}
        selected={selected}
        spot={(spot) => (
          <Menu
            label={spotText(graph, spot, nameOf)}
            button={m.addStep}
            items={NODE_TYPES.filter((type) => type !== 'end' || 'path' in spot).map((type) => ({
              key: type,
              label: t.journeys.types[type] ?? type,
              run: () => add(spot, type),
            }))}
          />
        )}
        step={(step, title) => (
          <EditableCard
            {...{ step, title, graph, nameOf, onGraph }}
            issues={issues.get(`node ${step.id}`) ?? []}
            is_open={step.id === selected}
            onToggle={() => onSelect(step.id === selected ? undefined : step.id)}
          />
        )}
      />
    </div>
  );
}

/** Where a step would be added, for screen readers. */
function spotText(graph: Graph, spot: Spot, nameOf: NameOf): string {
  const find = (id: string) => graph.nodes.find((node) => idOf(node) === id);
  if ('before' in spot) {
    const node = find(spot.before);
    return m.addBefore(node === undefined ? spot.before : titleOf(node, nameOf));
  }
  const node = find(spot.node_id);
  if (node === undefined) return m.addAfter(spot.node_id);
  const title = titleOf(node, nameOf);
  const edges = edgesOf(node);
  const edge = edges.find(({ path }) => path.join('.') === spot.path.join('.'));
  return edges.length === 1 || edge === undefined
    ? m.addAfter(title)
    : m.addOnWay(title, wayText(edge, node, nameOf));
}

interface CardProps {
  step: Step;
  title: string;
  graph: Graph;
  nameOf: NameOf;
  issues: readonly JourneyIssue[];
  is_open: boolean;
  onToggle: () => void;
  onGraph: StepListProps['onGraph'];
}

function EditableCard({ step, title, graph, nameOf, issues, is_open, onToggle, onGraph }: CardProps) {
  const { id, node } = step;
  const said = sayNode(node, nameOf);
  const type = String(node['type']);
  return (
    <div className={css['card']} data-wrong={issues.length > 0 || undefined}>
      <button type="button" className={css['toggle']} aria-expanded={is_open} onClick={onToggle} data-toggle>
        <strong>
          <bdi>{title}</bdi>
        </strong>
        <span className={css['kind']}>
          {t.journeys.types[type] ?? type} <code>{id}</code>
        </span>
      </button>
      {said === title ? null : (
        <span className={css['soft']}>
          <bdi>{said}</bdi>
        </span>
      )}
      {issues.length === 0 ? null : (
        <div role="alert" className={css['problem']} tabIndex={-1} data-issues>
          <ul>
            {issues.map(({ path, message }) => (
              <li key={`${path} ${message}`}>
                <code>{path.split('.').slice(3).join('.')}</code> {message}
              </li>
            ))}
          </ul>
        </div>
      )}
      {is_open ? <StepForm graph={graph} node={node} nameOf={nameOf} onGraph={onGraph} /> : null}
    </div>
  );
}
