import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Facts } from '../../ui/facts.tsx';
import { Answered } from '../../ui/states.tsx';
import { graphOf, type Step } from './graph.ts';
import css from './journeys.module.css';
import { useNames } from './names.ts';
import { Outline } from './outline.tsx';
import { Pictured, useView, ViewChoice } from './pictured.tsx';
import { useStats, type JourneyRecord, type JourneyStats, type NodeStats } from './queries.ts';
import { rulesOf, sayNode, triggerText, type NameOf } from './words.ts';

const m = t.journeys;

/** What starts the journey, its rules, and its graph with the numbers of each node. */
export function GraphTab({ journey }: { journey: JourneyRecord }) {
  const { id, trigger, settings } = journey;
  const graph = graphOf(journey.graph);
  const nameOf = useNames(trigger, graph, settings);
  const stats = useStats(id);
  const view = useView();
  const [selected, setSelected] = useState<string>();
  const counts = new Map(stats.data?.data.nodes.map((node) => [node.node_id, node]));
  return (
    <>
      <Answered asked={stats} what={m.loadingStats}>
        {({ data }) => <Numbers stats={data} />}
      </Answered>
      <Facts
        label={m.rules}
        facts={[
          [m.starts, <bdi key="starts">{triggerText(trigger, nameOf)}</bdi>],
          ...rulesOf(settings, nameOf).map(([name, value]) => [name, <bdi key={name}>{value}</bdi>] as const),
        ]}
      />
      <ViewChoice view={view} />
      <Pictured
        view={view}
        graph={graph}
        nameOf={nameOf}
        notes={new Map([...counts].map(([node_id, node]) => [node_id, noteOf(node)]))}
        wrong={new Set((journey.warnings ?? []).flatMap(({ node_id }) => node_id ?? []))}
        selected={selected}
        onSelect={setSelected}
      >
        <Outline
          graph={graph}
          nameOf={nameOf}
          selected={selected}
          step={(step, title) => (
            <Card step={step} title={title} nameOf={nameOf} journey_id={id} stats={counts.get(step.id)} />
          )}
        />
      </Pictured>
    </>
  );
}

function Numbers({ stats: { runs, goal } }: { stats: JourneyStats }) {
  return (
    <Facts
      label={m.runs.title}
      large
      facts={[
        [m.runStatuses.running, formatInt(runs.running)],
        [m.runStatuses.completed, formatInt(runs.completed)],
        [m.runStatuses.failed, formatInt(runs.failed)],
        [m.runStatuses.cancelled, formatInt(runs.cancelled)],
        ...(goal === null
          ? []
          : [
              [m.goal, m.goalOf(goal.reached, goal.runs)] as const,
              [m.heldOutGoal, m.goalOf(goal.held_out_reached, goal.held_out_runs)] as const,
            ]),
      ]}
    />
  );
}

interface CardProps {
  step: Step;
  title: string;
  nameOf: NameOf;
  journey_id: string;
  stats: NodeStats | undefined;
}

function Card({ step: { id, node }, title, nameOf, journey_id, stats }: CardProps) {
  const said = sayNode(node, nameOf);
  const type = String(node['type']);
  return (
    <div className={css['card']}>
      <div className={css['cardHead']}>
        <strong>
          <bdi>{title}</bdi>
        </strong>
        <span className={css['kind']}>
          {m.types[type] ?? type} <code>{id}</code>
        </span>
      </div>
      {said === title ? null : (
        <span className={css['soft']}>
          <bdi>{said}</bdi>
        </span>
      )}
      {stats === undefined ? null : <Counts stats={stats} title={title} journey_id={journey_id} />}
    </div>
  );
}

function Counts({ stats, title, journey_id }: { stats: NodeStats; title: string; journey_id: string }) {
  const { entered, waiting, completed, failed, exited } = stats;
  return (
    <ul className={css['counts']} aria-label={m.counts.title(title)}>
      <li>{m.counts.entered(entered)}</li>
      <li>
        {waiting === 0 ? (
          m.counts.waiting(waiting)
        ) : (
          <Link
            to="/journeys/$id"
            params={{ id: journey_id }}
            search={(before) => ({ ...before, tab: 'runs', node: stats.node_id, status: 'running' })}
          >
            {m.counts.waiting(waiting)}
          </Link>
        )}
      </li>
      <li>{m.counts.completed(completed)}</li>
      {failed === 0 ? null : <li>{m.counts.failed(failed)}</li>}
      {exited === 0 ? null : <li>{m.counts.exited(exited)}</li>}
      {sendsOf(stats).map((text) => (
        <li key={text}>{text}</li>
      ))}
    </ul>
  );
}

/** The numbers of a node in a few words. */
function noteOf(stats: NodeStats): string {
  const { entered, waiting, failed } = stats;
  return [
    m.counts.entered(entered),
    m.counts.waiting(waiting),
    ...(failed === 0 ? [] : [m.counts.failed(failed)]),
  ].join(', ');
}

/** What became of the messages of a node, without what none of them did. */
function sendsOf({ sends }: NodeStats): string[] {
  if (sends === null) return [];
  const names = Object.keys(m.counts.sends) as (keyof typeof m.counts.sends)[];
  return names.flatMap((name) => {
    const count = sends[name] ?? 0;
    return count === 0 ? [] : [m.counts.sends[name](count)];
  });
}
