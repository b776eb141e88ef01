import { wordsOf } from '../../format/code-words.ts';
import { getRouteApi, useNavigate } from '@tanstack/react-router';
import { oneOf } from '../../api/choices.ts';
import { type FiltersIn } from '../../api/queries.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Filter } from '../../ui/filter.tsx';
import type { Column } from '../../ui/grid.tsx';
import { Listed } from '../../ui/listed.tsx';
import { optionsOf } from '../../ui/record-field.tsx';
import { Empty } from '../../ui/states.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { useRecipients, type CampaignRecord, type Recipient } from './queries.ts';

const route = getRouteApi('/campaigns/$id');
const m = t.campaigns.report;
const CODES = Object.keys(t.codes) as NonNullable<FiltersIn<'campaigns.recipients'>['status']>[];
const GOOD = new Set(['sent', 'delivered', 'opened', 'clicked']);

/** The messages of the campaign, also those that were not sent, with the reason. */
export function Recipients({ campaign }: { campaign: CampaignRecord }) {
  const code = oneOf(CODES, route.useSearch().code);
  const navigate = useNavigate({ from: '/campaigns/$id' });
  const columns: Column<Recipient>[] = [
    {
      key: 'player',
      title: m.player,
      width: 'minmax(300px, 1fr)',
      cell: ({ player_id }) => <PlayerName id={player_id} />,
    },
    {
      key: 'status',
      title: t.campaigns.status,
      width: '130px',
      cell: ({ status }) => (
        <Badge tone={GOOD.has(status) ? 'good' : 'neutral'}>{t.overview.statuses[status] ?? status}</Badge>
      ),
    },
    {
      key: 'why',
      title: m.why,
      width: 'minmax(240px, 1fr)',
      cell: ({ error_code }) => (error_code === null ? '—' : wordsOf(error_code)),
    },
    {
      key: 'at',
      title: t.events.at,
      width: '210px',
      cell: (row) => <Time at={row.sent_at ?? row.enqueued_at} />,
    },
  ];
  return (
    <>
      <Filter
        label={m.filter}
        value={code}
        any={m.allReasons}
        options={optionsOf(t.codes)}
        onChange={(chosen) => void navigate({ search: (before) => ({ ...before, code: chosen }) })}
      />
      <Listed
        pages={useRecipients(campaign.id, code)}
        label={m.tabs.recipients}
        columns={columns}
        keyOf={(row) => row.id}
        onOpen={({ player_id }) => void navigate({ to: '/players/$id', params: { id: player_id } })}
        empty={<Empty title={m.noRecipients} />}
      />
    </>
  );
}
