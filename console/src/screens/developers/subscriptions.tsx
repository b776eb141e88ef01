import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { useSubscriptions, type Subscription } from './queries.ts';
import { NewSubscription } from './subscription-dialogs.tsx';
import { SubscriptionPage } from './subscription-page.tsx';
import { DeliveryState, lastErrorOf } from './subscription-state.tsx';

const route = getRouteApi('/developers');
const m = t.developers.subscription;

/** The subscriptions that are sent events, or the one that the address names; for admins. */
export function Subscriptions() {
  const { subscription } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const open = (id: string | undefined) =>
    void navigate({ search: (before) => ({ ...before, subscription: id, status: undefined }) });
  if (subscription === undefined) return <List onOpen={open} />;
  return <SubscriptionPage key={subscription} id={subscription} onBack={() => open(undefined)} />;
}

function List({ onOpen }: { onOpen: (id: string) => void }) {
  const [is_open, setOpen] = useState(false);
  const columns: Column<Subscription>[] = [
    {
      key: 'name',
      title: t.developers.name,
      width: 'minmax(160px, 1fr)',
      cell: ({ name }) => <bdi>{name}</bdi>,
    },
    {
      key: 'url',
      title: t.developers.endpoint,
      width: 'minmax(240px, 2fr)',
      cell: ({ url }) => <bdi>{url}</bdi>,
    },
    { key: 'state', title: m.state, width: '130px', cell: (row) => <DeliveryState of={row} /> },
    {
      key: 'pending',
      title: m.pending,
      width: '110px',
      align: 'right',
      cell: ({ delivery }) => formatInt(delivery.pending),
    },
    {
      key: 'error',
      title: t.developers.lastError,
      width: 'minmax(200px, 2fr)',
      cell: ({ delivery }) => lastErrorOf(delivery),
    },
    {
      key: 'delivered',
      title: m.lastDelivered,
      width: '210px',
      cell: ({ delivery }) => <Time at={delivery.last_delivered_at} ago />,
    },
  ];
  return (
    <>
      <search>
        <Button kind="primary" onClick={() => setOpen(true)}>
          {m.new}
        </Button>
      </search>
      <Listed
        pages={useSubscriptions()}
        label={t.developers.tabs.subscriptions}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => onOpen(id)}
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
      {is_open ? <NewSubscription onClose={() => setOpen(false)} /> : null}
    </>
  );
}
