import type { Report } from '@player-engagement/client/admin';
import { Link, useNavigate } from '@tanstack/react-router';
import { useMayEdit } from '../../api/place.tsx';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed, type Pages } from '../../ui/listed.tsx';
import { Page } from '../../ui/page.tsx';
import { Empty } from '../../ui/states.tsx';

/** What the service looks at by itself: alerts and reports. */
export const DUE = {
  alert: { words: t.alerts, to: '/insights/alerts', remove: 'alerts.delete' },
  report: { words: t.reports, to: '/insights/reports', remove: 'reports.delete' },
} as const;
export type DueKind = keyof typeof DUE;

type Listable = Pick<Report, 'id' | 'name' | 'state' | 'decided_until'>;

/** The alerts or reports of the project; `columns`: those between the name and the state. */
export function DueList<Row extends Listable>({
  kind,
  pages,
  columns,
}: {
  kind: DueKind;
  pages: Pages<Row>;
  columns: readonly Column<Row>[];
}) {
  const { words: m, to } = DUE[kind];
  const may_edit = useMayEdit();
  const navigate = useNavigate();
  const searchOf =
    (id: string) =>
    ({ project }: { project?: string | undefined }) => ({ project, [kind]: id });
  return (
    <Page
      title={m.title}
      actions={
        may_edit ? (
          <Link to={to} search={searchOf('new')}>
            {m.new}
          </Link>
        ) : null
      }
    >
      <Listed
        pages={pages}
        label={m.title}
        columns={[
          {
            key: 'name',
            title: m.fields.name,
            width: 'minmax(160px, 2fr)',
            cell: ({ name }) => <bdi>{name}</bdi>,
          },
          ...columns,
          {
            key: 'state',
            title: m.state,
            width: '180px',
            cell: ({ state }) => <State kind={kind} of={state} />,
          },
          {
            key: 'decided',
            title: m.decided,
            width: '210px',
            cell: ({ decided_until }) => <Time at={decided_until} ago />,
          },
        ]}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to, search: searchOf(id) })}
        empty={
          <Empty title={m.none}>
            <p>{m.noneHelp}</p>
          </Empty>
        }
      />
    </Page>
  );
}

function State({ kind, of }: { kind: DueKind; of: Listable['state'] }) {
  const { words: m } = DUE[kind];
  if (of === 'disabled') return <Badge>{m.off}</Badge>;
  return of === 'failing' ? <Badge tone="bad">{m.failing}</Badge> : <Badge tone="good">{m.waiting}</Badge>;
}
