import { useMoney } from '../../api/currencies.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import { useLedger, type LedgerRow } from './queries.ts';

const m = t.players;

/** Whether totals have the row, and why not. */
function countsText({ counts, not_counted_reason }: LedgerRow): string {
  if (not_counted_reason !== null) return m.notCounted[not_counted_reason];
  return counts === null ? '—' : m.counted;
}

/** The player's ledger: each movement as it came, what it is in the base currency by which rate, and whether it counts. */
export function Money({ id }: { id: string }) {
  const money = useMoney();
  const columns: Column<LedgerRow>[] = [
    { key: 'at', title: t.events.at, width: '210px', cell: ({ at }) => <Time at={at} /> },
    { key: 'event', title: t.events.name, width: '180px', cell: ({ event }) => event },
    {
      key: 'amount',
      title: t.events.amount,
      width: '150px',
      align: 'right',
      cell: ({ amount, payout, currency }) => {
        const shown = amount ?? payout;
        return shown === null || currency === null ? '—' : money.of(shown, currency);
      },
    },
    {
      key: 'bonus',
      title: m.bonusPart,
      width: '130px',
      align: 'right',
      cell: ({ bonus_stake, bonus_payout, currency }) => {
        const part = bonus_stake ?? bonus_payout;
        return part === null || currency === null ? '—' : money.of(part, currency);
      },
    },
    {
      key: 'base',
      title: m.baseAmount,
      width: '150px',
      align: 'right',
      cell: ({ amount, payout, base_amount, base_payout }) => {
        const shown = base_amount ?? base_payout;
        if (shown !== null) return money.base(shown);
        return amount === null && payout === null ? '—' : m.noRateYet;
      },
    },
    { key: 'counts', title: m.counts, width: '220px', cell: countsText },
    { key: 'rate', title: m.rate, width: '120px', align: 'right', cell: ({ rate }) => rate ?? '—' },
    { key: 'rate at', title: t.overview.range, width: '210px', cell: ({ rate_ts }) => <Time at={rate_ts} /> },
    {
      key: 'reference',
      title: m.reference,
      width: 'minmax(180px, 1fr)',
      cell: (row) => <code>{row.reference}</code>,
    },
    {
      key: 'movement',
      title: m.movement,
      width: '160px',
      cell: ({ movement_id }) => (movement_id === null ? '—' : <code>{movement_id}</code>),
    },
  ];
  return (
    <Listed
      pages={useLedger(id)}
      label={m.tabs.money}
      columns={columns}
      keyOf={({ ingestion_id, event_index }) => `${ingestion_id}/${event_index}`}
      empty={<Empty title={m.nothingHere} />}
    />
  );
}
