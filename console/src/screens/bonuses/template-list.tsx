import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { useMoney } from '../../api/currencies.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { optionsOf } from '../../ui/record-field.tsx';
import { Empty } from '../../ui/states.tsx';
import {
  configCurrency,
  largestBonus,
  TEMPLATE_STATUSES,
  TYPES,
  useBonusTemplates,
  type BonusTemplate,
} from './queries.ts';
import { TemplateStatus } from './status.tsx';

const route = getRouteApi('/bonuses');
const m = t.bonuses.template;
const EXAMPLE = `curl -X POST "$BASE/v1/bonus-templates" -H "Authorization: Bearer $SESSION" -H 'Content-Type: application/json' \\
  -d '{"name":"Welcome","type":"deposit_match","config":{"match_percent":100,"cap_amount":20000,"currency":"EUR"}}'`;

/** All bonus templates, the newest first. */
export function Templates() {
  const search = route.useSearch();
  const type = oneOf(TYPES, search.type);
  const status = oneOf(TEMPLATE_STATUSES, search.status);
  const navigate = useNavigate({ from: '/bonuses' });
  const money = useMoney();
  const columns: Column<BonusTemplate>[] = [
    {
      key: 'name',
      title: m.fields['name'] ?? '',
      width: 'minmax(220px, 2fr)',
      cell: ({ name }) => <bdi>{name}</bdi>,
    },
    { key: 'type', title: m.fields['type'] ?? '', width: '130px', cell: (row) => m.types[row.type] },
    {
      key: 'status',
      title: t.bonuses.status,
      width: '110px',
      cell: (row) => <TemplateStatus status={row.status} />,
    },
    {
      key: 'worth',
      title: m.worth,
      width: '190px',
      align: 'right',
      cell: (row) => money.of(largestBonus(row), configCurrency(row)),
    },
    { key: 'version', title: m.version, width: '80px', align: 'right', cell: ({ version }) => version },
    {
      key: 'changed',
      title: t.bonuses.changed,
      width: '210px',
      cell: ({ updated_at }) => <Time at={updated_at} ago />,
    },
  ];
  return (
    <>
      <search>
        <Filter
          label={m.fields['type'] ?? ''}
          value={type}
          any={m.anyType}
          options={optionsOf(m.types)}
          onChange={(value) => void navigate({ search: (before) => ({ ...before, type: value }) })}
        />
        <Filter
          label={t.bonuses.status}
          value={status}
          any={t.bonuses.anyStatus}
          options={optionsOf(m.statuses)}
          onChange={(value) => void navigate({ search: (before) => ({ ...before, status: value }) })}
        />
      </search>
      <Listed
        pages={useBonusTemplates({ type, status })}
        label={m.loading}
        columns={columns}
        keyOf={({ id }) => id}
        onOpen={({ id }) => void navigate({ to: '/bonuses/templates/$id', params: { id } })}
        empty={
          type === undefined && status === undefined ? (
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
