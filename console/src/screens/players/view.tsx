import { useState } from 'react';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useMoney, type MoneyFormat } from '../../api/currencies.ts';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { formatInt } from '../../format/number.ts';
import { playerName } from '../../format/mask.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Buttons } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Answered } from '../../ui/states.tsx';
import { Tabs } from '../../ui/tabs.tsx';
import { DeletePlayer } from './delete.tsx';
import { EditPlayer } from './edit.tsx';
import { Audit, Journeys, Limits, Messages, Segments, Timeline } from './histories.tsx';
import { Money } from './money.tsx';
import { Personal } from './personal.tsx';
import { usePlayer, type PlayerRecord } from './queries.ts';
import { Reach } from './reach.tsx';
import { Bonuses, Tiers } from './rewards.tsx';
import { kycWords, Status } from './status.tsx';

const route = getRouteApi('/players/$id');
const m = t.players;

const TABS = {
  timeline: Timeline,
  money: Money,
  limits: Limits,
  reach: Reach,
  messages: Messages,
  segments: Segments,
  journeys: Journeys,
  bonuses: Bonuses,
  tier: Tiers,
  audit: Audit,
} as const;
type Tab = keyof typeof TABS;
const NAMES = Object.keys(TABS) as Tab[];

/** One player: who it is, what may be done, totals, and everything that happened. */
export function Player() {
  const { id } = route.useParams();
  const { tab } = route.useSearch();
  const player = usePlayer(id);
  const known = player.data?.data;
  const money = useMoney();
  const shown = NAMES.find((one) => one === tab) ?? 'timeline';
  const Content = TABS[shown];
  return (
    <Page
      title={known === undefined ? m.columns.player : playerName(known)}
      // Windows and their history are seen by others: of a player they have the end of the id alone.
      window={`${m.columns.player} …${id.slice(-6)}`}
    >
      <Answered asked={player} what={m.loading}>
        {({ data, etag }) => (
          <>
            <Summary player={data} money={money} />
            <Acts key={id} player={data} etag={etag} />
            <Tabs
              label={m.columns.player}
              current={shown}
              tabs={NAMES.map((key) => ({ key, title: m.tabs[key] }))}
              link={(key, props) => (
                <Link
                  {...props}
                  to="/players/$id"
                  params={{ id }}
                  search={(before) => ({ ...before, tab: key })}
                />
              )}
            >
              <Content id={id} />
            </Tabs>
          </>
        )}
      </Answered>
    </Page>
  );
}

/** What editors may do with a player that is not deleted. */
function Acts({ player, etag }: { player: PlayerRecord; etag: string | undefined }) {
  const { role } = usePlace();
  const [opened, setOpened] = useState<'edit' | 'delete'>();
  const close = () => setOpened(undefined);
  if (!roleAllows(role, 'editor') || player.status === 'deleted') return null;
  return (
    <>
      <Buttons>
        <Button onClick={() => setOpened('edit')}>{m.edit.open}</Button>
        <Button kind="danger" onClick={() => setOpened('delete')}>
          {m.delete.open}
        </Button>
      </Buttons>
      {opened === 'edit' ? <EditPlayer player={player} etag={etag} onClose={close} /> : null}
      {opened === 'delete' ? <DeletePlayer player={player} onClose={close} /> : null}
    </>
  );
}

function Summary({ player, money }: { player: PlayerRecord; money: MoneyFormat }) {
  const may_play = player.status === 'active';
  const totals = m.totals;
  return (
    <>
      {may_play ? null : (
        <p>
          <Badge tone="shield">{m.excluded}</Badge>
        </p>
      )}
      <Facts
        label={m.columns.player}
        facts={[
          [m.columns.status, <Status key="status" status={player.status} />],
          [m.playerId, <Id key="id" value={player.id} what={m.playerId} />],
          [m.externalId, player.external_id ?? '—'],
          [m.devices, player.anonymous_ids.slice(0, 3).join(', ') || '—'],
          [m.columns.tier, player.current_tier_code ?? '—'],
          [m.columns.kyc, m.kycLevel(kycWords(player.kyc_status), player.kyc_level)],
          [m.timezone, player.timezone ?? '—'],
          [m.firstSeen, <Time key="first" at={player.first_seen_at} />],
          [m.lastSeen, <Time key="last" at={player.last_seen_at} ago />],
        ]}
      />
      <Personal key={player.id} player={player} />
      <Facts
        label={m.tabs.money}
        large
        facts={[
          [totals.deposited, money.base(player.total_deposited)],
          [totals.withdrawn, money.base(player.total_withdrawn)],
          [totals.wagered, money.base(player.total_wagered)],
          [totals.won, money.base(player.total_won)],
          [totals.bonusWagered, money.base(player.total_bonus_wagered)],
          [totals.bonusWon, money.base(player.total_bonus_won)],
          [totals.credited, money.base(player.total_credited)],
          [totals.debited, money.base(player.total_debited)],
          [totals.ggr, money.base(player.ggr)],
          [totals.ngr, money.base(player.ngr)],
          [totals.bets, formatInt(player.bet_count)],
          [totals.sessions, formatInt(player.session_count)],
        ]}
      />
      {Number(player.pending_conversions) === 0 ? null : (
        <p>
          <Badge tone="warn">{m.pending}</Badge>
        </p>
      )}
    </>
  );
}
