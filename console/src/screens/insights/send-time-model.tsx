import type { SendTimeModel } from '@player-engagement/client/admin';
import { formatInt, formatPercent } from '../../format/number.ts';
import { formatDay } from '../../format/time.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Facts } from '../../ui/facts.tsx';
import { Heat } from '../../ui/heat.tsx';
import { Table } from '../../ui/table.tsx';
import css from './insights.module.css';
import { ModelState } from './model-state.tsx';

const all = t.models;
const m = all.sendTime;
const DIGITS = { loss: 4, weight: 4 };
/** The name of the parameter, in every language. */
const WEIGHT = 'weight';
const HOURS = 24;

/** The model of the hours of players: its state, its proof next to the hours of all, and these hours. */
export function SendTimes({ model }: { model: SendTimeModel }) {
  const { status, fitted_at, as_of, players, timed_players, sampled, parameters, held_out } = model;
  return (
    <section className={css['part']} aria-label={m.title}>
      <h2>{m.title}</h2>
      <ModelState status={status} why={m.why[status]} />
      <p className={css['soft']}>{m.help}</p>
      <Facts
        label={m.title}
        facts={[
          [all.fitted, <Time key="fitted" at={fitted_at} />],
          [all.asOf, <Time key="as_of" at={as_of} />],
          [m.players, formatInt(players)],
          [m.timed, formatInt(timed_players)],
          [all.sampled, formatInt(sampled)],
        ]}
      />
      {held_out === null ? null : (
        <>
          <h3>{m.proof}</h3>
          <p>{m.proofHelp}</p>
          <Table
            label={m.proof}
            head={[all.window, all.players, m.sessions, m.loss, m.lossProfile]}
            rows={[
              {
                key: held_out.from,
                cells: [
                  all.between(formatDay(held_out.from, 'UTC'), formatDay(Date.parse(held_out.to) - 1, 'UTC')),
                  formatInt(held_out.players),
                  formatInt(held_out.sessions),
                  held_out.log_loss.toFixed(DIGITS.loss),
                  held_out.log_loss_profile.toFixed(DIGITS.loss),
                ],
              },
            ]}
          />
        </>
      )}
      {parameters === null ? null : (
        <>
          <h3>{all.parameters}</h3>
          <Table
            label={all.parameters}
            head={[all.name, all.value, all.meaning]}
            rows={[
              {
                key: WEIGHT,
                cells: [
                  <code key="name">{WEIGHT}</code>,
                  parameters.weight.toPrecision(DIGITS.weight),
                  m.weight,
                ],
              },
            ]}
          />
          <Profile profile={parameters.profile} />
        </>
      )}
    </section>
  );
}

/** The shares of sessions, a row for each weekday from Monday on. */
function Profile({ profile }: { profile: readonly number[] }) {
  const most = Math.max(...profile);
  const hours = Array.from({ length: HOURS }, (_, hour) => String(hour).padStart(2, '0'));
  return (
    <Heat
      title={m.profile}
      head={[m.weekday, ...hours]}
      rows={Object.values(t.reports.weekdays).map((name, day) => ({
        key: name,
        label: name,
        cells: profile.slice(day * HOURS, (day + 1) * HOURS).map((share) => ({
          text: formatPercent(share),
          figure: String(share),
          strength: most === 0 ? 0 : share / most,
          onOpen: undefined,
        })),
      }))}
    />
  );
}
