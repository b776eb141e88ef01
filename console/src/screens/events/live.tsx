import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { formatValue } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { useEventStream, type StreamedEvent } from '../../live/event-stream.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Grid, type Column } from '../../ui/grid.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Trace } from './trace.tsx';

const m = t.events;

const COLUMNS: readonly Column<StreamedEvent>[] = [
  { key: 'at', title: m.received, width: '210px', cell: ({ received_at }) => <Time at={received_at} /> },
  { key: 'event', title: m.name, width: '200px', cell: ({ event }) => event },
  {
    key: 'identity',
    title: m.identity,
    width: '240px',
    cell: ({ player_id, anonymous_id }) =>
      player_id === null ? <bdi>{anonymous_id ?? '—'}</bdi> : <PlayerName id={player_id} />,
  },
  {
    key: 'properties',
    title: m.properties,
    width: 'minmax(300px, 1fr)',
    cell: ({ properties }) => <code>{formatValue(properties)}</code>,
  },
];

/** Events of the project as they are accepted. */
export function Live() {
  const place = usePlace();
  const navigate = useNavigate({ from: '/events' });
  const [paused, setPaused] = useState(false);
  const tail = useEventStream(place, !paused);
  const state = { connecting: m.connecting, lost: m.lost, open: m.tabs.live }[tail.state];
  return (
    <>
      <div role="toolbar" aria-label={m.title}>
        <Button onClick={() => setPaused(!paused)} aria-pressed={paused}>
          {paused ? m.resume : m.pause}
        </Button>{' '}
        <span role="status">
          <Badge tone={paused ? 'neutral' : tail.state === 'open' ? 'good' : 'warn'}>
            {paused ? m.pause : state}
          </Badge>{' '}
          {tail.skipped === 0 ? null : m.skipped(tail.skipped)}
        </span>
      </div>
      {tail.events.length === 0 ? (
        <Empty title={m.waiting}>
          <p>{m.waitingHelp}</p>
        </Empty>
      ) : (
        <Grid
          label={m.tabs.live}
          rows={tail.events}
          columns={COLUMNS}
          keyOf={({ ingestion_id, index }) => `${ingestion_id}/${index}`}
          onOpen={({ ingestion_id, index }) => {
            setPaused(true);
            void navigate({ search: (before) => ({ ...before, trace: `${ingestion_id}/${index}` }) });
          }}
        />
      )}
      <Trace />
    </>
  );
}
