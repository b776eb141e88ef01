import type { ReactNode } from 'react';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useSystem, type System as SystemState } from './queries.ts';
import css from './view.module.css';

const m = t.system;
/** More than this waits, or counting stopped. */
const MOST_COUNTED = 10_000;

/** Whether the service keeps up; for admins, read again every 10 s. */
export function System() {
  if (!roleAllows(usePlace().role, 'admin')) {
    return (
      <Page title={m.title}>
        <Empty title={m.forAdmins} />
      </Page>
    );
  }
  return <State />;
}

function State() {
  const system = useSystem();
  return (
    <Page title={m.title}>
      <Answered asked={system} what={m.loading}>
        {({ data }) => (
          <div className={css['parts']}>
            <p className={css['soft']}>
              {m.readAt} <Time at={data.at} />
            </p>
            <Engines of={data} />
            <Part title={m.consumers} note={m.consumersNote}>
              <Table
                label={m.consumers}
                head={[m.consumer, m.behind]}
                rows={data.consumers.map(({ name, events_behind }) => ({
                  key: name,
                  cells: [wordIn(t.names.consumers, name), behindOf(events_behind)],
                }))}
              />
            </Part>
            <Part title={m.queues} note={m.queuesNote}>
              <Table
                label={m.queues}
                head={[m.queue, m.waiting, m.oldest]}
                rows={data.queues.map(({ name, items, oldest_at }) => ({
                  key: name,
                  cells: [
                    wordIn(t.names.queues, name),
                    waitingOf(items),
                    <Time key="oldest" at={oldest_at} ago />,
                  ],
                }))}
              />
            </Part>
            <Part title={m.jobs} note={m.jobsNote}>
              {data.jobs_given_up.length === 0 ? (
                <p>
                  <Badge tone="good">{m.noJobs}</Badge>
                </p>
              ) : (
                <Table
                  label={m.jobs}
                  head={[m.task, m.attempts, m.lastError, m.givenUp]}
                  rows={data.jobs_given_up.map((job, i) => ({
                    key: `${job.given_up_at} ${i}`,
                    cells: [
                      <code key="task">{job.task}</code>,
                      formatInt(job.attempts),
                      <bdi key="error">{job.last_error ?? '—'}</bdi>,
                      <Time key="at" at={job.given_up_at} ago />,
                    ],
                  }))}
                />
              )}
            </Part>
            <Part title={m.reconcile} note={m.reconcileNote}>
              <Reconciliation of={data} />
            </Part>
          </div>
        )}
      </Answered>
    </Page>
  );
}

function Part({ title, note, children }: { title: string; note: string; children: ReactNode }) {
  return (
    <section>
      <h2>{title}</h2>
      <p className={css['soft']}>{note}</p>
      {children}
    </section>
  );
}

function Engines({ of: { engines, versions, time_zones } }: { of: SystemState }) {
  return (
    <Facts
      label={m.engines}
      facts={[
        ...engines.map(
          ({ name, status, version }) =>
            [
              m.engineNames[name],
              <span key={name}>
                <Badge tone={status === 'ok' ? 'good' : 'bad'}>{m.statuses[status]}</Badge> {version}
              </span>,
            ] as const,
        ),
        [m.serviceVersion, versions.service],
        [m.nodeVersion, versions.node],
        [
          m.timeZones,
          <span key="time_zones">
            {time_zones.release} {time_zones.is_old && <Badge tone="warn">{m.timeZonesOld}</Badge>}
          </span>,
        ],
      ]}
    />
  );
}

function behindOf(events_behind: number | null): ReactNode {
  if (events_behind === null) return <Badge tone="warn">{m.notKnown}</Badge>;
  if (events_behind === 0) return <Badge tone="good">{m.caughtUp}</Badge>;
  return m.upTo(formatInt(events_behind));
}

function waitingOf(items: number | null): ReactNode {
  if (items === null) return <Badge tone="warn">{m.notKnown}</Badge>;
  return items >= MOST_COUNTED ? m.atLeast(formatInt(items)) : formatInt(items);
}

function Reconciliation({ of: { last_reconcile } }: { of: SystemState }) {
  if (last_reconcile === null) return <p>{m.neverReconciled}</p>;
  const { ended_at, differences } = last_reconcile;
  return (
    <p>
      <Time at={ended_at} ago />{' '}
      <Badge tone={differences === 0 ? 'good' : 'bad'}>
        {differences === 0 ? m.noDifferences : m.differences(differences)}
      </Badge>
    </p>
  );
}
