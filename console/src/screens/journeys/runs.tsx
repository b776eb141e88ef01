import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { oneOf } from '../../api/choices.ts';
import { useMayEdit } from '../../api/place.tsx';
import { uuidOf } from '../../format/uuid.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Filter } from '../../ui/filter.tsx';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';
import { optionsOf } from '../../ui/record-field.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { CancelRuns } from './cancel.tsx';
import { graphOf, idOf } from './graph.ts';
import css from './journeys.module.css';
import { titlesOf, useNames } from './names.ts';
import { RUN_STATUSES, useRuns, type JourneyRecord, type RunRecord } from './queries.ts';
import { Run } from './run.tsx';
import { whyOf } from './run-words.ts';
import { RunState } from './status.tsx';
import { titleOf } from './words.ts';

const route = getRouteApi('/journeys/$id');
const m = t.journeys.runs;

/** The runs, the newest first; each opens with its steps. All that is filtered is in the address. */
export function Runs({ journey }: { journey: JourneyRecord }) {
  const { status, node, player, run } = route.useSearch();
  const navigate = useNavigate({ from: '/journeys/$id' });
  const may_edit = useMayEdit();
  const [cancels, setCancels] = useState(false);
  const graph = graphOf(journey.graph);
  const nameOf = useNames(journey.trigger, graph, journey.settings);
  const titles = titlesOf(graph, (one) => titleOf(one, nameOf));
  const filter = (name: 'status' | 'node', value: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, [name]: value }) });
  const choosePlayer = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, player: id }), replace: true });
  const show = (run_id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, run: run_id }) });
  const known = oneOf(RUN_STATUSES, status);
  const player_id = uuidOf(player);
  const pages = useRuns(journey.id, { status: known, node_id: node, player_id });
  const is_filtered = known !== undefined || node !== undefined || player_id !== undefined;
  return (
    <>
      <search className={css['chosen']}>
        <Filter
          label={m.status}
          value={known}
          any={m.anyStatus}
          options={optionsOf(t.journeys.runStatuses)}
          onChange={(chosen) => filter('status', chosen)}
        />
        <Filter
          label={m.node}
          value={node}
          any={m.anyNode}
          options={graph.nodes.map((one) => ({
            value: idOf(one),
            name: (titles.get(idOf(one)) ?? idOf(one)).slice(0, 100),
          }))}
          onChange={(chosen) => filter('node', chosen)}
        />
        <PlayerChoice label={m.player} value={player_id} onChoose={choosePlayer} />
        {may_edit && journey.deleted_at === null ? (
          <Buttons>
            <Button kind="danger" onClick={() => setCancels(true)}>
              {m.cancelAll}
            </Button>
          </Buttons>
        ) : null}
      </search>
      <Listed
        pages={pages}
        label={m.loading}
        columns={columnsOf(titles, journey.hold)}
        keyOf={({ run_id }) => run_id}
        onOpen={({ run_id }) => show(run_id)}
        empty={
          is_filtered ? (
            <Empty title={m.noMatch} />
          ) : (
            <Empty title={m.none}>
              <p>{m.noneHelp}</p>
            </Empty>
          )
        }
      />
      {run === undefined ? null : (
        <Run journey={journey} run_id={run} titles={titles} onClose={() => show(undefined)} />
      )}
      {cancels ? (
        <CancelRuns journey={journey} node_id={node} titles={titles} onClose={() => setCancels(false)} />
      ) : null}
    </>
  );
}

function columnsOf(titles: ReadonlyMap<string, string>, is_held: boolean): readonly Column<RunRecord>[] {
  return [
    {
      key: 'player',
      title: m.player,
      width: 'minmax(220px, 1fr)',
      cell: ({ player_id }) => <PlayerName id={player_id} />,
    },
    { key: 'status', title: m.status, width: '130px', cell: ({ status }) => <RunState status={status} /> },
    {
      key: 'node',
      title: m.node,
      width: 'minmax(180px, 2fr)',
      cell: ({ current_node_id: id }) => <bdi>{titles.get(id) ?? id}</bdi>,
    },
    {
      key: 'due',
      title: m.due,
      width: '210px',
      cell: ({ due_at, status }) => (is_held && status === 'running' ? m.held : <Time at={due_at} />),
    },
    { key: 'why', title: m.why, width: 'minmax(160px, 1fr)', cell: whyOf },
    { key: 'version', title: m.version, width: '80px', align: 'right', cell: (row) => row.journey_version },
    { key: 'started', title: m.started, width: '210px', cell: (row) => <Time at={row.started_at} /> },
  ];
}
