import { useState } from 'react';
import { newActionKey, useChange } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Confirm } from '../../ui/confirm.tsx';
import { Answered } from '../../ui/states.tsx';
import { shortName } from './acts.tsx';
import { useStats, type JourneyRecord, type RunRecord } from './queries.ts';

const m = t.journeys.runs;

/** Asks before one run is cancelled. */
export function CancelRun({
  journey,
  run,
  onClose,
}: {
  journey: JourneyRecord;
  run: RunRecord;
  onClose: () => void;
}) {
  const [key] = useState(newActionKey);
  const act = useChange('journeys.runs.cancel');
  return (
    <Confirm
      title={m.cancelTitle(run.player_id)}
      verb={m.cancel}
      busy={act.isPending}
      error={act.error}
      onClose={onClose}
      onConfirm={() =>
        act.mutate({ inputs: [journey.id, run.run_id], idempotency_key: key }, { onSuccess: onClose })
      }
    >
      <p>{m.cancelText}</p>
    </Confirm>
  );
}

/** Asks before all running runs, or those at one node, are cancelled. */
export function CancelRuns({
  journey: { id, name },
  node_id,
  titles,
  onClose,
}: {
  journey: JourneyRecord;
  node_id: string | undefined;
  titles: ReadonlyMap<string, string>;
  onClose: () => void;
}) {
  const [key] = useState(newActionKey);
  const act = useChange('journeys.runs.cancelAll');
  const stats = useStats(id);
  const numbers = stats.data?.data;
  const count =
    node_id === undefined
      ? numbers?.runs.running
      : numbers && (numbers.nodes.find((node) => node.node_id === node_id)?.waiting ?? 0);
  const title = node_id === undefined ? undefined : (titles.get(node_id) ?? node_id);
  return (
    <Confirm
      title={m.cancelAllTitle(shortName(name))}
      verb={m.cancelAllVerb(count ?? 0)}
      count={count ?? 0}
      busy={act.isPending}
      ready={count !== undefined}
      error={act.error}
      onClose={onClose}
      onConfirm={() =>
        act.mutate(
          { inputs: [id, node_id === undefined ? {} : { node_id }], idempotency_key: key },
          { onSuccess: onClose },
        )
      }
    >
      <Answered asked={stats} what={t.journeys.loadingStats}>
        {() => <p>{m.cancelAllText(count ?? 0, title)}</p>}
      </Answered>
    </Confirm>
  );
}
