import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useMoney } from '../../api/currencies.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Badge, type Tone } from '../../ui/badge.tsx';
import { Id } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Facts } from '../../ui/facts.tsx';
import { PlayerName } from '../../ui/player-name.tsx';
import { Answered } from '../../ui/states.tsx';
import { useEventTrace, type EventTrace } from './queries.ts';

const route = getRouteApi('/events');
const m = t.events;

/** The drawer with the way of the event that the address names, if it names one. */
export function Trace() {
  const { trace } = route.useSearch();
  const navigate = useNavigate({ from: '/events' });
  const [ingestion_id = '', index = ''] = (trace ?? '').split('/');
  if (ingestion_id === '') return null;
  const close = () => void navigate({ search: ({ trace: _closed, ...rest }) => rest });
  return (
    <Dialog title={m.trace} as="drawer" onClose={close}>
      <Way ingestion_id={ingestion_id} index={index} />
    </Dialog>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  done: 'good',
  pending: 'warn',
  none: 'neutral',
  unknown: 'neutral',
};

/** What was rejected or conflicts is dealt with, too, and has not been counted. */
const VERDICT_TONES: Readonly<Record<NonNullable<EventTrace['folded']['verdict']>, Tone>> = {
  applied: 'good',
  duplicate: 'neutral',
  conflicting: 'bad',
  rejected: 'bad',
};

function Step({ status }: { status: keyof typeof m.statuses }) {
  return <Badge tone={TONES[status] ?? 'neutral'}>{m.statuses[status]}</Badge>;
}

function Way({ ingestion_id, index }: { ingestion_id: string; index: string }) {
  return (
    <Answered asked={useEventTrace(ingestion_id, index)} what={m.trace}>
      {({ data }) => (
        <>
          <Facts
            label={m.name}
            facts={[
              [m.name, data.event],
              [m.player, data.player_id === null ? '—' : <PlayerLink key="player" id={data.player_id} />],
              [m.ingestionId, <Id key="id" value={data.ingestion_id} what={m.ingestionId} />],
            ]}
          />
          <Facts
            label={m.steps.accepted}
            facts={[
              [m.steps.accepted, <Step key="accepted" status={data.accepted.status} />],
              [m.at, <Time key="at" at={data.accepted.at} />],
            ]}
          />
          <Folded folded={data.folded} />
          <Facts
            label={m.steps.landed}
            facts={[[m.steps.landed, <Step key="landed" status={data.landed.status} />]]}
          />
          <section>
            <h3>{m.steps.segments}</h3>
            <ul>
              {data.segments_entered_since.map(({ segment_id, name, entered_at }) => (
                <li key={segment_id}>
                  {name} <Time at={entered_at} />
                </li>
              ))}
            </ul>
            {data.segments_entered_since.length === 0 ? <p>{m.noSegments}</p> : null}
          </section>
        </>
      )}
    </Answered>
  );
}

function Folded({ folded }: { folded: EventTrace['folded'] }) {
  const format = useMoney();
  const { status, verdict, reason, message, duplicate_of, money } = folded;
  const inBase = money?.base_amount ?? null;
  const rate = money?.rate ?? null;
  return (
    <Facts
      label={m.steps.folded}
      facts={[
        [
          m.steps.folded,
          verdict === null ? (
            <Step key="folded" status={status} />
          ) : (
            <Badge key="folded" tone={VERDICT_TONES[verdict]}>
              {m.verdicts[verdict]}
            </Badge>
          ),
        ],
        ...(reason === null ? [] : ([[m.deadLetter, `${reason}: ${message ?? ''}`]] as const)),
        ...(duplicate_of === null ? [] : ([[m.duplicateOf, duplicate_of.ingestion_id]] as const)),
        ...(money === null || money.amount === null || money.currency === null
          ? []
          : ([
              [m.amount, format.of(money.amount, money.currency)],
              [t.players.baseAmount, inBase === null ? m.statuses.pending : format.base(inBase)],
              [t.players.rate, rate ?? '—'],
              [t.players.reference, money.reference],
            ] as const)),
      ]}
    />
  );
}

function PlayerLink({ id }: { id: string }) {
  return (
    <Link to="/players/$id" params={{ id }}>
      <PlayerName id={id} />
    </Link>
  );
}
