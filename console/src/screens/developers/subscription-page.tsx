import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import { wordsOf } from '../../format/code-words.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditTab } from '../../ui/audit.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Filter } from '../../ui/filter.tsx';
import { Buttons } from '../../ui/form.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Answered, Empty, Failed } from '../../ui/states.tsx';
import { StatusBadge } from './deliveries.tsx';
import {
  DELIVERY_STATUSES,
  useEventDeliveries,
  useSubscription,
  type EventDelivery,
  type Subscription,
} from './queries.ts';
import { DeleteSubscription, ReplayEvents, RotateSubscriptionSecret } from './subscription-dialogs.tsx';
import { DeliveryState, lastErrorOf } from './subscription-state.tsx';

const route = getRouteApi('/developers');
const m = t.developers.subscription;

/** One subscription: the state of its deliveries, what can be done, and its events. */
export function SubscriptionPage({ id, onBack }: { id: string; onBack: () => void }) {
  return (
    <>
      <Buttons>
        <Button onClick={onBack}>{m.all}</Button>
      </Buttons>
      <Answered asked={useSubscription(id)} what={m.one}>
        {({ data }) => (
          <>
            <State of={data} />
            <Acts of={data} onDeleted={onBack} />
            <h2>{m.deliveries}</h2>
            <EventDeliveries id={id} />
            <h2>{t.audit.title}</h2>
            <AuditTab type="event_subscription" id={id} />
          </>
        )}
      </Answered>
    </>
  );
}

function State({ of }: { of: Subscription }) {
  const { delivery, replay } = of;
  return (
    <>
      <h2>
        <bdi>{of.name}</bdi>
      </h2>
      <Facts
        label={m.one}
        facts={[
          [m.state, <DeliveryState key="state" of={of} />],
          [t.developers.endpoint, <bdi key="url">{of.url}</bdi>],
          [m.events, <code key="events">{of.events.join(', ')}</code>],
          [m.segments, of.segment_ids === null ? m.allSegments : formatInt(of.segment_ids.length)],
          [m.pending, formatInt(delivery.pending)],
          [m.oldestPending, <Time key="oldest" at={delivery.oldest_pending_at} ago />],
          [m.failed, formatInt(delivery.failed)],
          [m.dropped, formatInt(delivery.dropped)],
          [m.lastDelivered, <Time key="delivered" at={delivery.last_delivered_at} ago />],
          [t.developers.lastError, lastErrorOf(delivery)],
          [
            m.lastReplay,
            replay === null ? '—' : m.replayed(formatInt(replay.replayed), replay.ended_at === null),
          ],
          [m.id, <Id key="id" value={of.id} what={m.id} />],
        ]}
      />
    </>
  );
}

function Acts({ of, onDeleted }: { of: Subscription; onDeleted: () => void }) {
  const [opened, setOpened] = useState<'rotate' | 'replay' | 'delete'>();
  const pause = useChange('eventSubscriptions.pause');
  const enable = useChange('eventSubscriptions.enable');
  const test = useChange('eventSubscriptions.test');
  const is_paused = of.status === 'paused';
  const busy = pause.isPending || enable.isPending || test.isPending;
  const error = pause.error ?? enable.error ?? test.error;
  const close = () => setOpened(undefined);
  return (
    <>
      <Buttons>
        <Button disabled={busy || is_paused} onClick={() => test.mutate({ inputs: [of.id] })}>
          {m.test}
        </Button>
        <Button disabled={busy} onClick={() => (is_paused ? enable : pause).mutate({ inputs: [of.id] })}>
          {is_paused ? m.enable : m.pause}
        </Button>
        <Button onClick={() => setOpened('replay')}>{m.replayAct}</Button>
        <Button kind="danger" onClick={() => setOpened('rotate')}>
          {m.rotate}
        </Button>
        <Button kind="danger" onClick={() => setOpened('delete')}>
          {m.delete}
        </Button>
      </Buttons>
      {error === null ? null : <Failed error={error} />}
      {opened === 'rotate' ? <RotateSubscriptionSecret of={of} onClose={close} /> : null}
      {opened === 'replay' ? <ReplayEvents of={of} onClose={close} /> : null}
      {opened === 'delete' ? <DeleteSubscription of={of} onClose={close} onDeleted={onDeleted} /> : null}
    </>
  );
}

function EventDeliveries({ id }: { id: string }) {
  const { status } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const shown = DELIVERY_STATUSES.find((one) => one === status);
  const columns: Column<EventDelivery>[] = [
    { key: 'status', title: t.developers.status, width: '130px', cell: (row) => <StatusBadge of={row} /> },
    {
      key: 'event',
      title: t.developers.event,
      width: 'minmax(180px, 1fr)',
      cell: ({ event }) => <code>{event}</code>,
    },
    {
      key: 'player',
      title: m.player,
      width: 'minmax(180px, 1fr)',
      cell: ({ player_id }) => (player_id === null ? '—' : <Id value={player_id} what={m.player} />),
    },
    {
      key: 'attempts',
      title: t.developers.attempts,
      width: '90px',
      align: 'right',
      cell: ({ attempts }) => formatInt(attempts),
    },
    {
      key: 'error',
      title: t.developers.lastError,
      width: 'minmax(200px, 2fr)',
      cell: ({ error_code, response_status }) =>
        error_code === null
          ? '—'
          : `${wordsOf(error_code)}${response_status === null ? '' : ` (${response_status})`}`,
    },
    {
      key: 'created',
      title: t.developers.created,
      width: '210px',
      cell: (row) => <Time at={row.created_at} ago />,
    },
  ];
  return (
    <>
      <search>
        <Filter
          label={t.developers.status}
          value={shown}
          any={t.developers.anyStatus}
          options={DELIVERY_STATUSES.map((one) => ({
            value: one,
            name: t.developers.deliveryStatuses[one] ?? one,
          }))}
          onChange={(chosen) => void navigate({ search: (before) => ({ ...before, status: chosen }) })}
        />
      </search>
      <Listed
        pages={useEventDeliveries(id, shown)}
        label={m.deliveries}
        columns={columns}
        keyOf={({ event_id }) => event_id}
        empty={<Empty title={m.noDeliveries} />}
      />
    </>
  );
}
