import { useNavigate } from '@tanstack/react-router';
import { useMoney } from '../../api/currencies.ts';
import { formatValue } from '../../format/value.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Facts } from '../../ui/facts.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Grid } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { useGrants, useTierHistory, type GrantRecord, type TierEntry } from './queries.ts';

const m = t.players;
const WHEN = '210px';

/** The bonuses of the player, the newest first. */
export function Bonuses({ id }: { id: string }) {
  const money = useMoney();
  const navigate = useNavigate();
  const grant = t.bonuses.grant;
  const columns: Column<GrantRecord>[] = [
    {
      key: 'created',
      title: grant.columns.created,
      width: WHEN,
      cell: ({ created_at }) => <Time at={created_at} />,
    },
    {
      key: 'status',
      title: m.columns.status,
      width: '140px',
      cell: ({ status }) => (
        <Badge tone={status === 'completed' ? 'good' : 'neutral'}>{grant.statuses[status] ?? status}</Badge>
      ),
    },
    {
      key: 'amount',
      title: grant.columns.amount,
      width: '190px',
      align: 'right',
      cell: ({ bonus_amount, currency }) => money.of(bonus_amount, currency),
    },
    {
      key: 'progress',
      title: grant.columns.progress,
      width: 'minmax(220px, 1fr)',
      align: 'right',
      cell: ({ wagering_progress, wagering_required, currency }) =>
        wagering_required === 0n
          ? '—'
          : grant.progress(money.of(wagering_progress, currency), money.of(wagering_required, currency)),
    },
    {
      key: 'reason',
      title: m.why,
      width: 'minmax(140px, 1fr)',
      cell: ({ needs_review, status_reason }) =>
        needs_review ? <Badge tone="warn">{grant.needsReview}</Badge> : (status_reason ?? '—'),
    },
  ];
  return (
    <Listed
      pages={useGrants(id)}
      label={m.tabs.bonuses}
      columns={columns}
      keyOf={(row) => row.id}
      onOpen={(row) => void navigate({ to: '/bonuses/grants/$id', params: { id: row.id } })}
      empty={<Empty title={m.nothingHere} />}
    />
  );
}

/** The tier of the player, and how it changed. */
export function Tiers({ id }: { id: string }) {
  const columns: Column<TierEntry>[] = [
    { key: 'at', title: t.events.at, width: WHEN, cell: ({ occurred_at }) => <Time at={occurred_at} /> },
    {
      key: 'change',
      title: m.columns.tier,
      width: 'minmax(160px, 1fr)',
      cell: ({ from_code, to_code }) =>
        t.vip.moves.between(from_code ?? t.vip.moves.noTier, to_code ?? t.vip.moves.noTier),
    },
    {
      key: 'trigger',
      title: m.why,
      width: '130px',
      cell: ({ trigger }) => t.vip.moves.triggers[trigger] ?? trigger,
    },
    {
      key: 'context',
      title: t.events.properties,
      width: 'minmax(300px, 2fr)',
      cell: ({ context }) => <code>{formatValue(context)}</code>,
    },
  ];
  return (
    <Answered asked={useTierHistory(id)} what={m.tabs.tier}>
      {({ data }) => (
        <>
          <Facts
            label={m.columns.tier}
            facts={[
              [m.columns.tier, data.current_tier_code ?? t.vip.moves.noTier],
              [m.entered, <Time key="since" at={data.tier_promoted_at} />],
              [m.tierLocked, t.vip.yesNo[String(data.tier_locked)] ?? ''],
              [m.tierWaits, data.pending_approval ?? '—'],
            ]}
          />
          {data.history.length === 0 ? (
            <Empty title={m.nothingHere} />
          ) : (
            <Grid
              label={m.tabs.tier}
              rows={data.history}
              columns={columns}
              keyOf={({ occurred_at, from_code, to_code }) => `${occurred_at} ${from_code} ${to_code}`}
            />
          )}
        </>
      )}
    </Answered>
  );
}
