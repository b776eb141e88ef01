import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { useMoney } from '../../api/currencies.ts';
import { formatInt } from '../../format/number.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { optionsOf } from '../../ui/record-field.tsx';
import { Empty } from '../../ui/states.tsx';
import { CAMPAIGN_STATUSES, useBonusCampaigns, type BonusCampaign } from './queries.ts';
import { CampaignStatus } from './status.tsx';

const route = getRouteApi('/bonuses');
const m = t.bonuses.campaign;
const EXAMPLE = `curl -X POST "$BASE/v1/bonus-campaigns" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"May reload","template_id":"…","segment_id":"…","max_liability":1000000}'`;

/** All bonus campaigns, the newest first. */
export function Campaigns() {
  const status = oneOf(CAMPAIGN_STATUSES, route.useSearch().status);
  const navigate = useNavigate({ from: '/bonuses' });
  const money = useMoney();
  const columns: Column<BonusCampaign>[] = [
    {
      key: 'name',
      title: m.fields['name'] ?? '',
      width: 'minmax(220px, 2fr)',
      cell: ({ name }) => <bdi>{name}</bdi>,
    },
    {
      key: 'status',
      title: t.bonuses.status,
      width: '130px',
      cell: (row) => <CampaignStatus status={row.status} />,
    },
    {
      key: 'granted',
      title: m.granted,
      width: '90px',
      align: 'right',
      cell: ({ stats }) => formatInt(stats.granted),
    },
    {
      key: 'cost',
      title: m.cost.granted_base,
      width: '150px',
      align: 'right',
      cell: ({ cost }) => money.base(cost.granted_base),
    },
    {
      key: 'open',
      title: m.cost.open_base,
      width: '150px',
      align: 'right',
      cell: ({ cost }) => money.base(cost.open_base),
    },
    {
      key: 'limit',
      title: m.budget,
      width: '150px',
      align: 'right',
      cell: ({ max_liability }) => (max_liability === null ? t.bonuses.noLimit : money.base(max_liability)),
    },
    {
      key: 'when',
      title: m.when,
      width: '210px',
      cell: ({ issued_at, schedule_at }) => <Time at={issued_at ?? schedule_at} />,
    },
    {
      key: 'problem',
      title: m.problem,
      width: 'minmax(120px, 1fr)',
      cell: ({ last_error }) => last_error ?? '—',
    },
  ];
  return (
    <>
      <search>
        <Filter
          label={t.bonuses.status}
          value={status}
          any={t.bonuses.anyStatus}
          options={optionsOf(m.statuses)}
          onChange={(value) => void navigate({ search: (before) => ({ ...before, status: value }) })}
        />
      </search>
      <Listed
        pages={useBonusCampaigns({ status })}
        label={m.loading}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/bonuses/campaigns/$id', params: { id } })}
        empty={
          status === undefined ? (
            <Empty title={m.none} call={EXAMPLE}>
              <p>{m.noneHelp}</p>
            </Empty>
          ) : (
            <Empty title={m.noMatch} />
          )
        }
      />
    </>
  );
}
