import { wordsOf } from '../../format/code-words.ts';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { usePlace } from '../../api/place.tsx';
import { roleAllows } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Id } from '../../ui/copy.tsx';
import { downloadCsv } from '../../ui/csv.ts';
import { Facts } from '../../ui/facts.tsx';
import { Page } from '../../ui/page.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Answered, Empty } from '../../ui/states.tsx';
import { Table } from '../../ui/table.tsx';
import { Exclude, Lift } from './exclude.tsx';
import { State } from './exclusions.tsx';
import { useProof, type HandedOver, type Proof, type ProvenExclusion } from './queries.ts';

const route = getRouteApi('/compliance/$id');
const m = t.compliance;
const p = m.proof;

/** What one player got while excluded: nothing, or each of it. To print, or as CSV. */
export function ProofPage() {
  const { id } = route.useParams();
  const proof = useProof(id);
  const shown = proof.data?.data;
  const { role } = usePlace();
  const [opened, setOpened] = useState<'exclude' | 'lift'>();
  const close = () => setOpened(undefined);
  return (
    <Page
      title={p.title}
      actions={
        shown === undefined ? null : (
          <>
            {roleAllows(role, 'compliance') ? (
              <>
                <Button onClick={() => setOpened('exclude')}>{m.officer.exclude}</Button>
                {isExcluded(shown) ? (
                  <Button kind="danger" onClick={() => setOpened('lift')}>
                    {m.officer.lift}
                  </Button>
                ) : null}
              </>
            ) : null}
            <Button onClick={() => downloadCsv(p.of(shown.external_id ?? shown.player_id), csvOf(shown))}>
              {m.csv}
            </Button>
            <Button onClick={() => window.print()}>{m.print}</Button>
          </>
        )
      }
    >
      {opened === 'exclude' ? <Exclude player={id} onClose={close} onDone={close} /> : null}
      {opened === 'lift' && shown !== undefined ? (
        <Lift player={id} name={shown.external_id ?? shown.player_id} onClose={close} />
      ) : null}
      <Answered asked={proof} what={p.loading}>
        {({ data }) => (
          <>
            <p>
              <Badge tone={data.messages + data.bonuses === 0 ? 'good' : 'bad'}>
                {p.verdict(data.messages, data.bonuses)}
              </Badge>
            </p>
            {data.is_complete ? null : (
              <p>
                <Badge tone="warn">{p.incomplete}</Badge>
              </p>
            )}
            <Facts
              label={m.player}
              facts={[
                [
                  m.player,
                  <Link key="player" to="/players/$id" params={{ id: data.player_id }}>
                    <PlayerName id={data.player_id} external_id={data.external_id} />
                  </Link>,
                ],
                [m.playerId, <Id key="id" value={data.player_id} what={m.playerId} />],
                [p.merged, data.merged_player_ids.join(', ') || '—'],
                [p.asOf, <Time key="as of" at={data.as_of} />],
              ]}
            />
            {data.exclusions.length === 0 ? <Empty title={p.none} /> : null}
            {data.exclusions.map((exclusion) => (
              <Span key={exclusion.id} exclusion={exclusion} as_of={data.as_of} />
            ))}
          </>
        )}
      </Answered>
    </Page>
  );
}

/** Whether a self-exclusion of the player, and of nobody merged into it, is in force. */
function isExcluded({ exclusions }: Proof): boolean {
  return exclusions.some(
    ({ kind, state, merged_into }) => kind === 'self_exclusion' && state === 'active' && merged_into === null,
  );
}

function Span({ exclusion, as_of }: { exclusion: ProvenExclusion; as_of: string }) {
  const { messages, bonuses, accepted_at, until, kind } = exclusion;
  const is_open = until === null || Date.parse(until) > Date.parse(as_of);
  return (
    <section aria-label={m.kinds[kind]}>
      <h2>{m.kinds[kind]}</h2>
      <p>
        <State state={exclusion.state} /> <strong>{p.statement(messages, bonuses)}</strong>{' '}
        <Time at={accepted_at} /> {p.and} {is_open ? p.now : <Time at={until} />}
      </p>
      <Facts
        label={m.kinds[kind]}
        facts={[
          [m.since, <Time key="since" at={exclusion.since} />],
          [m.cause, m.sources[exclusion.cause.source]],
          [m.until, until === null ? m.open : <Time key="until" at={until} />],
          [
            p.blocked,
            exclusion.blocked
              .map(
                ({ kind: what, code, count }) => `${p.kindOf[what]}: ${p.blockedOne(count, wordsOf(code))}`,
              )
              .join(', ') || p.nothing,
          ],
        ]}
      />
      {exclusion.merged_into === null ? null : <p>{p.mergedInto}</p>}
      <Handed title={p.handedOver} rows={exclusion.handed_over} />
      <Handed title={p.underWay} help={p.underWayHelp} rows={exclusion.under_way} />
    </section>
  );
}

function Handed({ title, help, rows }: { title: string; help?: string; rows: readonly HandedOver[] }) {
  if (rows.length === 0) return null;
  return (
    <>
      <h3>{title}</h3>
      {help === undefined ? null : <p>{help}</p>}
      <Table
        label={title}
        head={[p.what, m.playerId, m.origin, p.status, p.decided, p.handed]}
        rows={rows.map((row) => ({
          key: row.id,
          cells: [
            row.channel === null ? p.kindOf[row.kind] : p.messageOn(t.names.channels[row.channel]),
            <Id key="player" value={row.player_id} what={m.playerId} />,
            row.campaign_name ?? row.journey_name ?? '—',
            statusOf(row),
            <Time key="decided" at={row.decided_at} />,
            <Time key="handed" at={row.handed_over_at} />,
          ],
        }))}
      />
    </>
  );
}

function statusOf({ kind, status, error_code }: HandedOver): string {
  const words = (kind === 'message' ? t.overview.statuses : t.bonuses.grant.statuses)[status] ?? status;
  return error_code === null ? words : `${words} (${wordsOf(error_code)})`;
}

/** One line per exclusion, then one per message or bonus of it. */
function csvOf(proof: Proof): string[][] {
  const head = [m.playerId, m.kind, m.accepted, m.until, p.what, p.status, p.decided, p.handed];
  return [
    head,
    ...proof.exclusions.flatMap((one) => {
      const start = [one.player_id, m.kinds[one.kind], one.accepted_at, one.until ?? m.open];
      const line = (title: string, row: HandedOver) => [
        ...start,
        `${title}: ${p.kindOf[row.kind]} ${row.id}, ${m.playerId} ${row.player_id}`,
        row.status,
        row.decided_at,
        row.handed_over_at ?? '',
      ];
      return [
        [...start, p.statement(one.messages, one.bonuses), '', '', ''],
        ...one.handed_over.map((row) => line(p.handedOver, row)),
        ...one.under_way.map((row) => line(p.underWay, row)),
      ];
    }),
  ];
}
