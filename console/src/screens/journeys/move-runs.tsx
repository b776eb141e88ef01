import type { MigrateRunsBody, MigrateRunsResult } from '@player-engagement/client/admin';
import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { ask } from '../../api/client.ts';
import { usePlace } from '../../api/place.tsx';
import { newActionKey, useChange } from '../../api/queries.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { Answered, Failed } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { shortName } from './acts.tsx';
import { graphOf, idOf, type Written } from './graph.ts';
import css from './journeys.module.css';
import { placesOf, type Place } from './moves.ts';
import { useNames } from './names.ts';
import { useVersion, type JourneyRecord, type ListedVersion, type VersionRecord } from './queries.ts';
import { titleOf } from './words.ts';

const m = t.journeys.moves;

/** What is asked for, with the key of this action: another choice is another action, another try is the same one. */
interface Wish {
  from: number;
  to: number;
  /** The steps that were chosen, by the step of the old version. */
  map: Readonly<Record<string, string>>;
  unmapped: 'stay' | 'exit';
  recompute: boolean;
  key: string;
}

interface MoveProps {
  journey: JourneyRecord;
  /** At least two. */
  listed: readonly ListedVersion[];
  onClose: () => void;
}

/** Runs go to the live version, from the newest other one that has any. */
function firstWish({ version }: JourneyRecord, listed: readonly ListedVersion[]): Wish {
  const to = version ?? listed[0]?.version ?? 1;
  const others = listed.filter((one) => one.version !== to);
  const from = (others.find(({ running }) => running > 0) ?? others[0])?.version ?? 1;
  return { from, to, map: {}, unmapped: 'stay', recompute: false, key: newActionKey() };
}

/** Moves the running runs of a version to another one: what fits where, how many that are, and then the act. */
export function MoveRuns({ journey, listed, onClose }: MoveProps) {
  const { id } = journey;
  const name = shortName(journey.name);
  const place = usePlace();
  const [wish, setWish] = useState<Wish>(() => firstWish(journey, listed));
  const [asking, setAsking] = useState(false);
  // It changes nothing, so nothing that the page shows is asked again.
  const count = useMutation({
    mutationFn: (wanted: MigrateRunsBody) => ask('journeys.migrateRuns', [id, wanted], { project: place }),
  });
  const act = useChange('journeys.migrateRuns');
  const counted = count.data?.data;
  const done = act.data?.data;
  const change = (next: Partial<Wish>) => {
    count.reset();
    act.reset();
    setWish((before) => ({ ...before, ...next, key: newActionKey() }));
  };
  const body = {
    from_version: wish.from,
    to_version: wish.to,
    node_map: wish.map,
    unmapped: wish.unmapped,
    recompute_waits: wish.recompute,
  };
  if (asking && counted !== undefined) {
    const { moved, stayed, exited } = counted;
    return (
      <Confirm
        title={m.confirmTitle(name, wish.from, wish.to)}
        verb={m.confirmVerb(moved, exited)}
        count={moved + exited}
        busy={act.isPending}
        error={act.error}
        onClose={() => setAsking(false)}
        onConfirm={() =>
          act.mutate({ inputs: [id, body], idempotency_key: wish.key }, { onSuccess: () => setAsking(false) })
        }
      >
        {moved === 0 ? null : <p>{m.confirmMoved(moved)}</p>}
        {exited === 0 ? null : <p>{m.confirmExited(exited)}</p>}
        {stayed === 0 ? null : <p>{m.confirmStayed(stayed)}</p>}
        {wish.recompute ? <p>{m.confirmRecompute}</p> : null}
      </Confirm>
    );
  }
  if (done !== undefined) {
    return (
      <Dialog title={m.title(name)} onClose={onClose}>
        <p role="status">{m.done(done)}</p>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={m.title(name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{t.confirm.cancel}</Button>
          <Button disabled={count.isPending} onClick={() => count.mutate({ ...body, dry_run: true })}>
            {count.isPending ? m.counting : m.count}
          </Button>
          <Button
            kind="danger"
            disabled={count.isPending || counted === undefined || counted.moved + counted.exited === 0}
            onClick={() => setAsking(true)}
          >
            {m.act}
          </Button>
        </>
      }
    >
      <p>{m.text}</p>
      <Form disabled={count.isPending}>
        <Versions wish={wish} listed={listed} onChange={change} />
        <Steps journey={journey} wish={wish} by_node={counted?.by_node} onChange={change} />
        <Field label={m.unmapped}>
          {(control) => (
            <select
              {...control}
              value={wish.unmapped}
              onChange={({ target }) => change({ unmapped: target.value === 'exit' ? 'exit' : 'stay' })}
            >
              <option value="stay">{m.unmappedWays.stay}</option>
              <option value="exit">{m.unmappedWays.exit}</option>
            </select>
          )}
        </Field>
        <label>
          <input
            type="checkbox"
            checked={wish.recompute}
            onChange={({ target }) => change({ recompute: target.checked })}
          />{' '}
          {m.recompute}
        </label>
      </Form>
      {count.error === null ? null : <Failed error={count.error} />}
      <p role="status">{counted === undefined ? m.countFirst : m.result(counted)}</p>
    </Dialog>
  );
}

/** The choice of the two versions; what was chosen for the steps of others is forgotten. */
function Versions({
  wish,
  listed,
  onChange,
}: {
  wish: Wish;
  listed: readonly ListedVersion[];
  onChange: (next: Partial<Wish>) => void;
}) {
  const choice = (side: 'from' | 'to', other: number) => (
    <Field label={m[side]}>
      {(control) => (
        <select
          {...control}
          value={wish[side]}
          onChange={({ target }) => onChange({ [side]: Number(target.value), map: {} })}
        >
          {listed
            .filter(({ version }) => version !== other)
            .map(({ version }) => (
              <option key={version} value={version}>
                {t.journeys.versionNumber(version)}
              </option>
            ))}
        </select>
      )}
    </Field>
  );
  return (
    <Row>
      {choice('from', wish.to)}
      {choice('to', wish.from)}
    </Row>
  );
}

interface StepsProps {
  journey: JourneyRecord;
  wish: Wish;
  by_node: MigrateRunsResult['by_node'] | undefined;
  onChange: (next: Partial<Wish>) => void;
}

/** The steps of the old version, with what each is in the new one. */
function Steps(props: StepsProps) {
  const { journey, wish } = props;
  const from = useVersion(journey.id, wish.from);
  const to = useVersion(journey.id, wish.to);
  return (
    <Answered asked={from} what={m.steps}>
      {(old) => (
        <Answered asked={to} what={m.steps}>
          {(now) => <StepTable {...props} from={old.data} to={now.data} />}
        </Answered>
      )}
    </Answered>
  );
}

function StepTable({
  wish: { map },
  by_node,
  onChange,
  from,
  to,
}: StepsProps & { from: VersionRecord; to: VersionRecord }) {
  const [old, now] = [graphOf(from.graph), graphOf(to.graph)];
  const nameOfOld = useNames(from.trigger, old, from.settings);
  const nameOfNew = useNames(to.trigger, now, to.settings);
  const choose = (id: string, target: string) =>
    onChange({
      map: Object.fromEntries([
        ...Object.entries(map).filter(([key]) => key !== id),
        ...(target === '' ? [] : [[id, target] as const]),
      ]),
    });
  return (
    <Table
      label={m.steps}
      head={[m.step, m.becomes, m.runs]}
      rows={placesOf(old, now).map((place) => {
        const { id, node } = place;
        const title = titleOf(node, nameOfOld);
        return {
          key: id,
          cells: [
            <span key="step">
              <bdi>{title}</bdi> <code>{id}</code>
            </span>,
            <Target
              key="target"
              place={place}
              title={title}
              titleOf={(target) => titleOf(target, nameOfNew)}
              chosen={map[id] ?? ''}
              onChoose={(target) => choose(id, target)}
            />,
            by_node === undefined ? '—' : formatInt(by_node[id] ?? 0),
          ],
        };
      })}
    />
  );
}

function Target({
  place: { is_same, targets },
  title,
  titleOf: titleOfTarget,
  chosen,
  onChoose,
}: {
  place: Place;
  title: string;
  titleOf: (target: Written) => string;
  chosen: string;
  onChoose: (target: string) => void;
}) {
  if (is_same) return m.same;
  if (targets.length === 0) return m.noTarget;
  return (
    <select
      className={css['target']}
      aria-label={m.targetOf(title)}
      value={chosen}
      onChange={({ target }) => onChoose(target.value)}
    >
      <option value="">{m.nowhere}</option>
      {targets.map((target) => (
        <option key={idOf(target)} value={idOf(target)}>
          {`${titleOfTarget(target)} (${idOf(target)})`}
        </option>
      ))}
    </select>
  );
}
