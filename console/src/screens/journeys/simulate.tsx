import type { JourneySimulation, SimulateJourneyBody } from '@player-engagement/client/admin';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { asWritten } from '../../api/json.ts';
import { usePlace } from '../../api/place.tsx';
import { useMutation } from '@tanstack/react-query';
import { maskText } from '../../../../src/players/masking.ts';
import { Time } from '../../format/zone.tsx';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { PlayerChoice } from '../../ui/player-choice.tsx';
import { Failed } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { contextOf, shortName, type ActProps } from './acts.tsx';
import { graphOf } from './graph.ts';
import css from './journeys.module.css';
import { titlesOf, useNames } from './names.ts';
import { reasonOf } from './run-words.ts';
import { spanText, titleOf } from './words.ts';

const m = t.journeys.simulation;
const TONES: Readonly<Record<string, Tone>> = { completed: 'good', skipped: 'warn', failed: 'bad' };

/** Shows the path that a player would take through the journey as it was saved last, with the reason of each step. */
export function Simulate({ journey, onClose }: ActProps) {
  const { id, trigger, settings } = journey;
  const place = usePlace();
  const [player, setPlayer] = useState<string>();
  const [payload, setPayload] = useState('');
  const graph = graphOf(journey.graph);
  const nameOf = useNames(trigger, graph, settings);
  const titles = titlesOf(graph, (node) => titleOf(node, nameOf));
  const read = contextOf(payload);
  // It changes nothing, so nothing that the page shows is asked again.
  const asked = useMutation({
    mutationFn: (body: SimulateJourneyBody) =>
      ask('journeys.simulate', [id, asWritten(body)], { project: place }),
  });
  const run = () =>
    asked.mutate({
      ...(player === undefined ? {} : { player_id: player }),
      ...(read === null || read === undefined ? {} : { trigger_payload: read }),
    });
  return (
    <Dialog
      as="drawer"
      title={m.title(shortName(journey.name))}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.dialog.close}</Button>
          <Button kind="primary" disabled={asked.isPending || read === undefined} onClick={run}>
            {asked.isPending ? m.running : m.run}
          </Button>
        </>
      }
    >
      <p>{m.text}</p>
      <PlayerChoice label={t.journeys.runs.player} value={player} onChoose={setPlayer} />
      {player === undefined ? <p className={css['soft']}>{m.madeUp}</p> : null}
      <Field
        label={m.payload}
        hint={m.payloadHint}
        error={read === undefined ? t.journeys.notJsonObject : undefined}
      >
        {(control) => (
          <textarea
            {...control}
            rows={3}
            spellCheck={false}
            value={payload}
            onChange={({ target }) => setPayload(target.value)}
          />
        )}
      </Field>
      {asked.error === null ? null : <Failed error={asked.error} />}
      {asked.data === undefined ? null : <Path simulation={asked.data.data} titles={titles} />}
    </Dialog>
  );
}

function Path({
  simulation: { steps, messages, outcome, notes },
  titles,
}: {
  simulation: JourneySimulation;
  titles: ReadonlyMap<string, string>;
}) {
  const runs = t.journeys.runs;
  const title = (id: string) => titles.get(id) ?? id;
  return (
    <>
      <p role="status">{m.outcome(runs.outcomes[outcome] ?? outcome)}</p>
      <Table
        label={m.path}
        head={[runs.node, runs.status, m.why, m.after, m.when]}
        rows={steps.map((step) => ({
          key: String(step.seq),
          cells: [
            <bdi key="node">{title(step.node_id)}</bdi>,
            <Badge key="status" tone={TONES[step.status] ?? 'neutral'}>
              {runs.statuses[step.status] ?? step.status}
            </Badge>,
            [reasonOf(step), ...(step.note === undefined ? [] : [step.note])].join('; '),
            step.at_ms === 0 ? m.atOnce : spanText(step.at_ms - (step.at_ms % 1_000)),
            <Time key="when" at={step.completed_at} />,
          ],
        }))}
      />
      {messages.length === 0 ? null : (
        <>
          <h3>{m.messages}</h3>
          {messages.map(({ node_id, channel, recipient, subject, body }) => (
            <details key={node_id}>
              <summary>
                <bdi>{m.message(title(node_id), wordIn(t.names.channels, channel), maskText(recipient))}</bdi>
              </summary>
              {subject === undefined ? null : (
                <p>
                  <strong>
                    <bdi>{subject}</bdi>
                  </strong>
                </p>
              )}
              <pre className={css['text']} tabIndex={0} role="group" aria-label={title(node_id)}>
                {body}
              </pre>
            </details>
          ))}
        </>
      )}
      {notes.length === 0 ? null : (
        <div className={css['note']}>
          <p>{m.notes}</p>
          <ul>
            {notes.map((note) => (
              <li key={note}>{note}</li>
            ))}
          </ul>
        </div>
      )}
    </>
  );
}
