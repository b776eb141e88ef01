import { useState } from 'react';
import { useMoney, type Amount } from '../../api/currencies.ts';
import { writeExactly } from '../../api/json.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { Empty } from '../../ui/states.tsx';
import css from './developers.module.css';
import { useSandboxBonuses, type SandboxBonus } from './queries.ts';

const m = t.developers.adapter;

/** What the columns show of a grant's body: a caller who uses a sandbox by hand may omit it. */
interface Sent {
  player_external_id?: string;
  template?: { name?: string; amount_subunit?: Amount; currency?: string };
}

function sentBy({ sent }: SandboxBonus): Sent {
  return sent;
}

/** What a sandbox was given, as a platform would have it. */
export function SandboxBonuses({ id }: { id: string }) {
  const [opened, setOpened] = useState<SandboxBonus>();
  const money = useMoney();
  const columns: Column<SandboxBonus>[] = [
    { key: 'granted', title: m.granted, width: '210px', cell: (row) => <Time at={row.created_at} ago /> },
    {
      key: 'player',
      title: m.player,
      width: 'minmax(140px, 1fr)',
      cell: (row) => <bdi>{sentBy(row).player_external_id ?? '—'}</bdi>,
    },
    {
      key: 'template',
      title: m.template,
      width: 'minmax(140px, 1fr)',
      cell: (row) => <bdi>{sentBy(row).template?.name ?? '—'}</bdi>,
    },
    {
      key: 'amount',
      title: m.amount,
      width: '190px',
      align: 'right',
      cell: (row) => {
        const { amount_subunit, currency } = sentBy(row).template ?? {};
        return amount_subunit === undefined || currency === undefined
          ? '—'
          : money.of(amount_subunit, currency);
      },
    },
    {
      key: 'status',
      title: t.developers.status,
      width: '130px',
      cell: ({ status }) => <Status of={status} />,
    },
  ];
  return (
    <>
      <Listed
        pages={useSandboxBonuses(id)}
        label={m.bonuses}
        columns={columns}
        keyOf={({ grant_id }) => grant_id}
        onOpen={setOpened}
        empty={
          <Empty title={m.noBonuses}>
            <p>{m.noBonusesHelp}</p>
          </Empty>
        }
      />
      {opened === undefined ? null : (
        <Dialog title={m.bonus} as="drawer" onClose={() => setOpened(undefined)}>
          <Facts
            label={m.bonus}
            facts={[
              [t.developers.status, <Status key="status" of={opened.status} />],
              [m.grantId, <Id key="grant" value={opened.grant_id} what={m.grantId} />],
              [m.bonusId, <Id key="bonus" value={opened.platform_bonus_id} what={m.bonusId} />],
              [m.granted, <Time key="granted" at={opened.created_at} />],
              [m.changed, <Time key="changed" at={opened.updated_at} />],
            ]}
          />
          <h3>{m.sent}</h3>
          <pre className={css['wrapped']} tabIndex={0} role="group" aria-label={m.sent}>
            {writeExactly(opened.sent, 2)}
          </pre>
        </Dialog>
      )}
    </>
  );
}

function Status({ of }: { of: string }) {
  return <Badge>{t.bonuses.grant.statuses[of] ?? of}</Badge>;
}
