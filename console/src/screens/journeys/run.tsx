import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { writeExactly } from '../../api/json.ts';
import { useMayEdit } from '../../api/place.tsx';
import { maskPersonal } from '../../../../src/players/masking.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { CancelRun } from './cancel.tsx';
import css from './journeys.module.css';
import { useRun, type JourneyRecord, type RunRecord, type StepRecord } from './queries.ts';
import { reasonOf, whyOf } from './run-words.ts';
import { RunState } from './status.tsx';

const m = t.journeys.runs;
const TONES: Readonly<Record<StepRecord['status'], Tone>> = {
  waiting: 'accent',
  completed: 'good',
  skipped: 'warn',
  failed: 'bad',
};

interface RunProps {
  journey: JourneyRecord;
  run_id: string;
  /** The titles of nodes by their ids. */
  titles: ReadonlyMap<string, string>;
  onClose: () => void;
}

/** One run in a drawer: where it stands and until when, its steps with reasons, and its end by hand. */
export function Run({ journey, run_id, titles, onClose }: RunProps) {
  const run = useRun(journey.id, run_id);
  const may_edit = useMayEdit();
  const [cancels, setCancels] = useState(false);
  const record = run.data?.data;
  return (
    <Dialog
      as="drawer"
      title={m.one}
      onClose={onClose}
      actions={
        <>
          {may_edit && record?.status === 'running' ? (
            <Button kind="danger" onClick={() => setCancels(true)}>
              {m.cancel}
            </Button>
          ) : null}
          <Button onClick={onClose}>{t.dialog.close}</Button>
        </>
      }
    >
      <Answered asked={run} what={m.loadingOne}>
        {({ data }) => (
          <>
            <About run={data} is_held={journey.hold} />
            <h3>{m.steps}</h3>
            <Table
              label={m.steps}
              head={[m.node, m.status, m.outcome, m.entered, m.left]}
              rows={data.history.map((step) => ({
                key: String(step.seq),
                cells: [
                  <bdi key="node">{titles.get(step.node_id) ?? step.node_id}</bdi>,
                  <Badge key="status" tone={TONES[step.status]}>
                    {m.statuses[step.status] ?? step.status}
                  </Badge>,
                  reasonOf(step),
                  <Time key="entered" at={step.entered_at} />,
                  step.due_at === undefined || step.due_at === null ? (
                    <Time key="left" at={step.completed_at} />
                  ) : (
                    <span key="due">
                      {m.due} <Time at={step.due_at} />
                    </span>
                  ),
                ],
              }))}
            />
            <details>
              <summary>{m.context}</summary>
              <pre className={css['text']} tabIndex={0} role="group" aria-label={m.context}>
                {maskPersonal(writeExactly(data.context, 2))}
              </pre>
            </details>
          </>
        )}
      </Answered>
      {cancels && record !== undefined ? (
        <CancelRun journey={journey} run={record} onClose={() => setCancels(false)} />
      ) : null}
    </Dialog>
  );
}

function About({ run, is_held }: { run: RunRecord; is_held: boolean }) {
  const { player_id, trigger, due_at, status } = run;
  return (
    <Facts
      label={m.one}
      facts={[
        [m.status, <RunState key="status" status={status} />],
        [
          m.player,
          <span key="player">
            <Link to="/players/$id" params={{ id: player_id }}>
              <PlayerName id={player_id} />
            </Link>{' '}
            <Id value={player_id} what={m.player} />
          </span>,
        ],
        ...(status === 'running'
          ? [[m.due, is_held ? m.held : <Time key="due" at={due_at} />] as const]
          : [[m.ended, <Time key="ended" at={run.completed_at} />] as const, [m.why, whyOf(run)] as const]),
        [m.trigger, trigger.event ?? trigger.kind],
        [m.version, String(run.journey_version)],
        [m.started, <Time key="started" at={run.started_at} />],
        [m.id, <Id key="id" value={run.run_id} what={m.id} />],
      ]}
    />
  );
}
