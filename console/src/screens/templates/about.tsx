import { Link } from '@tanstack/react-router';
import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useReferences } from './queries.ts';

const m = t.templates;

/** The campaigns and journeys that use the template. */
export function UsedBy({ id }: { id: string }) {
  return (
    <Answered asked={useReferences(id)} what={m.tabs.usedBy}>
      {({ data: { campaigns, journeys } }) =>
        campaigns.length + journeys.length === 0 ? (
          <Empty title={m.usedByNothing} />
        ) : (
          <Table
            label={m.tabs.usedBy}
            head={[m.kind, m.name, m.status]}
            rows={[
              ...campaigns.map((row) => ({
                key: row.id,
                cells: [
                  m.kinds.campaign,
                  <Link key="link" to="/campaigns/$id" params={{ id: row.id }}>
                    <bdi>{row.name}</bdi>
                  </Link>,
                  wordIn(t.campaigns.statuses, row.status),
                ],
              })),
              ...journeys.map((row) => ({
                key: row.id,
                cells: [
                  m.kinds.journey,
                  <Link key="link" to="/journeys/$id" params={{ id: row.id }}>
                    <bdi>{row.name}</bdi>
                  </Link>,
                  wordIn(t.journeys.statuses, row.status),
                ],
              })),
            ]}
          />
        )
      }
    </Answered>
  );
}
