import type { Report } from '@player-engagement/client/admin';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Table } from '../../ui/table.tsx';
import css from './insights.module.css';

const m = t.reports.notices;

/** What an alert or report has sent to whom. */
export function Notices({ of: { notices } }: { of: Pick<Report, 'notices'> }) {
  return (
    <section className={css['part']} aria-label={m.title}>
      <h2>{m.title}</h2>
      {notices.length === 0 ? (
        <p className={css['soft']}>{m.none}</p>
      ) : (
        <Table
          label={m.title}
          head={[m.when, m.receiver, m.status, m.error]}
          wraps
          rows={notices.map((one) => ({
            key: one.id,
            cells: [
              <Time key="at" at={one.created_at} />,
              <bdi key="to">{one.receiver.kind === 'email' ? one.receiver.address : one.receiver.url}</bdi>,
              m.statuses[one.status],
              one.error ?? '—',
            ],
          }))}
        />
      )}
    </section>
  );
}
