import { wordsOf } from '../../format/code-words.ts';
import { Link, useNavigate } from '@tanstack/react-router';
import type { ComponentProps } from 'react';
import { formatMasked } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { AuditList } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import {
  useAudit,
  useJourneyRuns,
  useMemberships,
  useMessages,
  useTimeline,
  type JourneyRun,
  type Membership,
  type MessageRecord,
  type TimelineEntry,
} from './queries.ts';

const m = t.players;
const nothing = <Empty title={m.nothingHere} />;
const WHEN = '210px';
/** The events about responsible gambling. */
const LIMIT_EVENTS = [
  'deposit_limit_set',
  'deposit_limit_reached',
  'loss_limit_set',
  'loss_limit_reached',
  'session_limit_warning',
  'session_limit_exceeded',
  'reality_check',
  'cooldown_entered',
  'self_exclusion_set',
  'self_exclusion_lifted',
];

/** What the player did, the newest first. */
export function Timeline({ id }: { id: string }) {
  return <Events pages={useTimeline(id)} label={m.tabs.timeline} empty={nothing} />;
}

/** Limits that the player set, reached or exceeded, and the exclusions and breaks between them, with a way to the proof. */
export function Limits({ id }: { id: string }) {
  return (
    <>
      <p>
        <Link to="/compliance/$id" params={{ id }}>
          {m.toProof}
        </Link>
      </p>
      <Events
        pages={useTimeline(id, LIMIT_EVENTS)}
        label={m.tabs.limits}
        empty={
          <Empty title={m.noLimits}>
            <p>{m.noLimitsHelp}</p>
          </Empty>
        }
      />
    </>
  );
}

function Events({
  pages,
  label,
  empty,
}: Pick<ComponentProps<typeof Listed<TimelineEntry>>, 'pages' | 'label' | 'empty'>) {
  const columns: Column<TimelineEntry>[] = [
    { key: 'at', title: t.events.at, width: WHEN, cell: ({ timestamp }) => <Time at={timestamp} /> },
    { key: 'event', title: t.events.name, width: '200px', cell: ({ event }) => event },
    {
      key: 'properties',
      title: t.events.properties,
      width: 'minmax(300px, 1fr)',
      cell: ({ properties }) => <code>{formatMasked(properties)}</code>,
    },
  ];
  return (
    <Listed
      pages={pages}
      label={label}
      columns={columns}
      keyOf={({ ingestion_id, event, timestamp }) => `${ingestion_id} ${event} ${timestamp}`}
      empty={empty}
    />
  );
}

const GOOD = new Set(['sent', 'delivered', 'opened', 'clicked']);

/** Messages to the player; of those that were not sent, why. */
export function Messages({ id }: { id: string }) {
  const columns: Column<MessageRecord>[] = [
    {
      key: 'at',
      title: t.events.at,
      width: WHEN,
      cell: (row) => <Time at={row.sent_at ?? row.enqueued_at} />,
    },
    { key: 'channel', title: m.channel, width: '100px', cell: ({ channel }) => t.names.channels[channel] },
    {
      key: 'status',
      title: m.columns.status,
      width: '140px',
      cell: ({ status }) => (
        <Badge tone={GOOD.has(status) ? 'good' : 'neutral'}>{t.overview.statuses[status] ?? status}</Badge>
      ),
    },
    {
      key: 'why',
      title: m.why,
      width: 'minmax(200px, 1fr)',
      cell: ({ error_code }) => (error_code === null ? '—' : wordsOf(error_code)),
    },
  ];
  return (
    <Listed
      pages={useMessages(id)}
      label={m.tabs.messages}
      columns={columns}
      keyOf={(row) => row.id}
      empty={nothing}
    />
  );
}

/** The segments that the player is a member of. */
export function Segments({ id }: { id: string }) {
  const columns: Column<Membership>[] = [
    { key: 'name', title: m.tabs.segments, width: 'minmax(200px, 1fr)', cell: ({ name }) => name },
    { key: 'entered', title: m.entered, width: WHEN, cell: ({ entered_at }) => <Time at={entered_at} /> },
  ];
  return (
    <Listed
      pages={useMemberships(id)}
      label={m.tabs.segments}
      columns={columns}
      keyOf={(row) => row.segment_id}
      empty={nothing}
    />
  );
}

/** The player's runs of journeys; each opens with its steps. */
export function Journeys({ id }: { id: string }) {
  const navigate = useNavigate();
  const columns: Column<JourneyRun>[] = [
    { key: 'started', title: t.events.at, width: WHEN, cell: ({ started_at }) => <Time at={started_at} /> },
    {
      key: 'journey',
      title: m.tabs.journeys,
      width: 'minmax(200px, 1fr)',
      cell: ({ journey_name }) => <bdi>{journey_name}</bdi>,
    },
    {
      key: 'status',
      title: m.columns.status,
      width: '140px',
      cell: ({ status }) => <Badge>{t.journeys.runStatuses[status]}</Badge>,
    },
  ];
  return (
    <Listed
      pages={useJourneyRuns(id)}
      label={m.tabs.journeys}
      columns={columns}
      keyOf={(row) => row.run_id}
      onOpen={({ journey_id, run_id }) =>
        void navigate({
          to: '/journeys/$id',
          params: { id: journey_id },
          search: { tab: 'runs', run: run_id },
        })
      }
      empty={nothing}
    />
  );
}

/** Who changed the player, and what. */
export function Audit({ id }: { id: string }) {
  return <AuditList pages={useAudit(id)} label={m.tabs.audit} empty={nothing} />;
}
