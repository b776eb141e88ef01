import { useState } from 'react';
import { useMoney } from '../../api/currencies.ts';
import { newActionKey, useChange } from '../../api/queries.ts';
import { formatInt } from '../../format/number.ts';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Answered } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { useDryRun, type BonusCampaign } from './queries.ts';

const m = t.bonuses.campaign;
/** Codes of players who are protected. */
const PROTECTED = new Set(['SELF_EXCLUDED', 'COOLDOWN', 'AT_RISK']);

interface ActProps {
  campaign: BonusCampaign;
  onClose: () => void;
}

/** Counts first what issuing would do and cost, then asks. The key is made when the dialog opens. */
export function Issue({ campaign, onClose }: ActProps) {
  const [key] = useState(newActionKey);
  const issue = useChange('bonusCampaigns.issue');
  const counted = useDryRun(campaign);
  const money = useMoney();
  const found = counted.data?.data;
  return (
    <Confirm
      title={m.issue.title(campaign.name.slice(0, 100))}
      verb={m.issue.verb(found?.would_grant ?? 0)}
      count={found?.would_grant ?? 0}
      busy={issue.isPending}
      ready={found !== undefined}
      error={issue.error}
      onConfirm={() =>
        issue.mutate({ inputs: [campaign.id, {}], idempotency_key: key }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <Answered asked={counted} what={m.issue.counting}>
        {({ data: { members, would_grant, cost_base, skips } }) => (
          <>
            <p>{m.issue.text(would_grant, money.base(cost_base))}</p>
            <Facts
              label={m.issue.counting}
              facts={[
                [m.members, formatInt(members)],
                [m.issue.would, formatInt(would_grant)],
                [m.issue.cost, money.base(cost_base)],
              ]}
            />
            <Skips skips={skips} />
          </>
        )}
      </Answered>
    </Confirm>
  );
}

/** Pauses, goes on with, or cancels a campaign that is being issued. */
export function Move({ campaign, to, onClose }: ActProps & { to: 'paused' | 'issuing' | 'cancelled' }) {
  const [key] = useState(newActionKey);
  const move = useChange('bonusCampaigns.update');
  const words = m.moves[to];
  return (
    <Confirm
      title={words.title(campaign.name.slice(0, 100))}
      verb={words.button}
      busy={move.isPending}
      error={move.error}
      onConfirm={() =>
        move.mutate({ inputs: [campaign.id, { status: to }], idempotency_key: key }, { onSuccess: onClose })
      }
      onClose={onClose}
    >
      <p>{words.text(campaign.stats.granted, campaign.stats.pending)}</p>
    </Confirm>
  );
}

/** Why members get nothing, the most frequent reason first. */
export function Skips({ skips }: { skips: BonusCampaign['skips'] }) {
  const rows = Object.entries(skips).sort(([, a], [, b]) => b - a);
  if (rows.length === 0) return <p>{m.noSkips}</p>;
  const words = (code: string) => m.skips[code] ?? t.bonuses.refusals[code] ?? code;
  return (
    <Table
      label={m.skipped}
      head={[m.why, m.members, m.code]}
      rows={rows.map(([code, count]) => ({
        key: code,
        cells: [
          PROTECTED.has(code) ? <Badge tone="shield">{words(code)}</Badge> : words(code),
          formatInt(count),
          <code key="code">{code}</code>,
        ],
      }))}
    />
  );
}
