import { Fragment, type ReactNode } from 'react';
import { t } from '../../messages/t.ts';
import {
  edgesOf,
  outlineOf,
  type EdgePath,
  type Graph,
  type Sequence,
  type Step,
  type Way,
  type Written,
} from './graph.ts';
import css from './journeys.module.css';
import { titlesOf } from './names.ts';
import { titleOf, wayText, type NameOf } from './words.ts';

const m = t.journeys;

/** Where a step can be added: on the way of a node, or before a node, on all ways that lead to it. */
export type Spot = { node_id: string; path: EdgePath } | { before: string };

interface OutlineProps {
  graph: Graph;
  nameOf: NameOf;
  /** The id of the node that is marked. */
  selected?: string | undefined;
  /** Renders a node below its place in the list. */
  step: (step: Step, title: string) => ReactNode;
  /** What can be done with a way of a node that has several. */
  way?: (node: Written, way: Way) => ReactNode;
  /** Renders what adds a step at a place. */
  spot?: (spot: Spot) => ReactNode;
}

/** The graph as an indented list: each way of a branching node is a list of its own, and what follows all is below. */
export function Outline({ graph, ...parts }: OutlineProps) {
  const { main, unreached } = outlineOf(graph);
  const titles = titlesOf(graph, (node) => titleOf(node, parts.nameOf));
  const shared = { ...parts, titles };
  return (
    <div className={css['outline']}>
      {parts.spot?.({ before: graph.start_node_id })}
      <Steps {...shared} sequence={main} label={m.steps} />
      {unreached.length === 0 ? null : (
        <>
          <h3>{m.unreached}</h3>
          <Steps {...shared} sequence={{ steps: unreached, on: undefined }} label={m.unreached} apart />
        </>
      )}
    </div>
  );
}

type StepsProps = Omit<OutlineProps, 'graph'> & {
  sequence: Sequence;
  label: string;
  titles: ReadonlyMap<string, string>;
  /** The steps do not follow each other. */
  apart?: boolean;
};

function Steps({ sequence: { steps, on }, label, apart = false, ...parts }: StepsProps) {
  const { titles, step, spot, selected } = parts;
  return (
    <ol className={css['steps']} aria-label={label}>
      {steps.map((one, i) => {
        const follower = steps[i + 1]?.id ?? on;
        return (
          <li key={one.id} aria-current={one.id === selected ? 'step' : undefined} data-node={one.id}>
            {step(one, titles.get(one.id) ?? one.id)}
            {one.ways.length === 0 ? (
              edgesOf(one.node).map(({ path }) => (
                <Fragment key={path.join('.')}>{apart ? null : spot?.({ node_id: one.id, path })}</Fragment>
              ))
            ) : (
              <Ways {...parts} step_of={one} />
            )}
            {one.ways.length > 0 && follower !== undefined ? spot?.({ before: follower }) : null}
          </li>
        );
      })}
      {on === undefined ? null : <GoesOn on={on} titles={titles} />}
    </ol>
  );
}

function Ways({ step_of, ...parts }: Omit<StepsProps, 'sequence' | 'label'> & { step_of: Step }) {
  const { node, ways, id } = step_of;
  return (
    <ul className={css['ways']} aria-label={parts.titles.get(id) ?? id}>
      {ways.map((way) => {
        const text = wayText(way.edge, node, parts.nameOf);
        return (
          <li key={way.edge.path.join('.')}>
            <div className={css['way']}>
              <span className={css['wayText']}>
                <bdi>{text}</bdi>
              </span>
              {parts.way?.(node, way)}
            </div>
            {parts.spot?.({ node_id: id, path: way.edge.path })}
            <Steps {...parts} sequence={way} label={text} />
          </li>
        );
      })}
    </ul>
  );
}

function GoesOn({ on, titles }: { on: string; titles: ReadonlyMap<string, string> }) {
  const title = titles.get(on);
  return (
    <li className={css['on']}>
      <bdi>{title === undefined ? m.leadsNowhere : m.goesOn(title)}</bdi>
    </li>
  );
}
