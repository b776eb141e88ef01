import { wordsOf } from '../../format/code-words.ts';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import css from './developers.module.css';
import { DELIVERY_STATUSES, useDeliveries, type Delivery, type DeliveryStatus } from './queries.ts';

const route = getRouteApi('/developers');
const m = t.developers;
const TONES: Readonly<Record<DeliveryStatus, Tone>> = {
  pending: 'accent',
  delivered: 'good',
  failed: 'bad',
  cancelled: 'neutral',
};

/** The ledger of webhooks: what was sent where, how often, and what came of it; for admins. */
export function Deliveries() {
  const { status } = route.useSearch();
  const navigate = useNavigate({ from: '/developers' });
  const [opened, setOpened] = useState<Delivery>();
  const shown = DELIVERY_STATUSES.find((one) => one === status);
  const columns: Column<Delivery>[] = [
    { key: 'status', title: m.status, width: '130px', cell: (row) => <StatusBadge of={row} /> },
    { key: 'url', title: m.endpoint, width: 'minmax(260px, 3fr)', cell: ({ url }) => <bdi>{url}</bdi> },
    {
      key: 'attempts',
      title: m.attempts,
      width: '90px',
      align: 'right',
      cell: ({ attempts }) => formatInt(attempts),
    },
    {
      key: 'error',
      title: m.lastError,
      width: 'minmax(200px, 2fr)',
      cell: ({ error_code, response_status }) =>
        error_code === null
          ? '—'
          : `${wordsOf(error_code)}${response_status === null ? '' : ` (${response_status})`}`,
    },
    { key: 'created', title: m.created, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    { key: 'next', title: m.nextAttempt, width: '210px', cell: (row) => <Time at={row.next_attempt_at} /> },
  ];
  return (
    <>
      <search>
        <Filter
          label={m.status}
          value={shown}
          any={m.anyStatus}
          options={DELIVERY_STATUSES.map((one) => ({ value: one, name: m.deliveryStatuses[one] ?? one }))}
          onChange={(chosen) => void navigate({ search: (before) => ({ ...before, status: chosen }) })}
        />
      </search>
      <Listed
        pages={useDeliveries(shown)}
        label={m.tabs.webhooks}
        columns={columns}
        keyOf={({ event_id }) => event_id}
        onOpen={setOpened}
        empty={
          shown === undefined ? (
            <Empty title={m.noDeliveries}>
              <p>{m.noDeliveriesHelp}</p>
            </Empty>
          ) : (
            <Empty title={m.noneOfStatus} />
          )
        }
      />
      {opened === undefined ? null : <Details of={opened} onClose={() => setOpened(undefined)} />}
    </>
  );
}

/** What became of a delivery. */
export function StatusBadge({ of: { status } }: { of: { status: DeliveryStatus } }) {
  return <Badge tone={TONES[status]}>{m.deliveryStatuses[status]}</Badge>;
}

function Details({ of, onClose }: { of: Delivery; onClose: () => void }) {
  return (
    <Dialog title={m.delivery} as="drawer" onClose={onClose}>
      <Facts
        label={m.delivery}
        facts={[
          [m.status, <StatusBadge key="status" of={of} />],
          [m.endpoint, <bdi key="url">{of.url}</bdi>],
          [m.attempts, formatInt(of.attempts)],
          [m.lastAttempt, <Time key="last" at={of.last_attempt_at} />],
          [m.nextAttempt, <Time key="next" at={of.next_attempt_at} />],
          [m.lastError, of.error_code === null ? '—' : wordsOf(of.error_code)],
          [m.reason, of.reason ?? '—'],
          [m.answerStatus, of.response_status === null ? '—' : String(of.response_status)],
          [m.eventId, <Id key="event" value={of.event_id} what={m.eventId} />],
          [m.journeyId, <Id key="journey" value={of.journey_id} what={m.journeyId} />],
          [m.runId, <Id key="run" value={of.run_id} what={m.runId} />],
          [m.node, of.node_id],
        ]}
      />
      {of.response === null ? null : (
        <>
          <h3>{m.answer}</h3>
          <pre className={css['wrapped']} tabIndex={0} role="group" aria-label={m.answer}>
            {of.response}
          </pre>
        </>
      )}
    </Dialog>
  );
}
