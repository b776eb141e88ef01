import type { Model } from '@player-engagement/client/admin';
import { useMoney } from '../../api/currencies.ts';
import { formatInt, formatPercent } from '../../format/number.ts';
import { formatDay } from '../../format/time.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Facts } from '../../ui/facts.tsx';
import { Table } from '../../ui/table.tsx';
import css from './insights.module.css';
import { ModelState } from './model-state.tsx';

const all = t.models;
const m = all.scores;
const DIGITS = { brier: 4, auc: 3, parameter: 4 };
type Meaning = keyof typeof m.meanings;
const PARAMETERS = Object.keys(m.meanings) as Meaning[];

/** The model of churn_score and ltv_predicted: its state, its backtest next to plain recency, and its parameters. */
export function ScoreModel({ model }: { model: Model }) {
  const { status, parameters, fitted_at, as_of, players, sampled, ngr, total_deposited } = model;
  const money = useMoney();
  const why = status === 'waiting' ? (parameters === null ? 'few' : 'early') : status;
  return (
    <section className={css['part']} aria-label={m.title}>
      <h2>{m.title}</h2>
      <ModelState status={status} why={m.why[why]} />
      <p className={css['soft']}>{m.help}</p>
      <Facts
        label={m.title}
        facts={[
          [all.fitted, <Time key="fitted" at={fitted_at} />],
          [all.asOf, <Time key="as_of" at={as_of} />],
          [m.players, formatInt(players)],
          [all.sampled, formatInt(sampled)],
          [m.ngr, money.base(ngr)],
          [m.deposited, money.base(total_deposited)],
        ]}
      />
      <Backtest backtest={model.backtest} />
      <Calibration bins={model.calibration} />
      {parameters === null ? null : (
        <>
          <h3>{all.parameters}</h3>
          <Table
            label={all.parameters}
            head={[all.name, all.value, all.meaning]}
            rows={PARAMETERS.map((name) => ({
              key: name,
              cells: [
                <code key="name">{name}</code>,
                parameters[name].toPrecision(DIGITS.parameter),
                m.meanings[name],
              ],
            }))}
          />
        </>
      )}
    </section>
  );
}

/** The windows of the backtest, the last one first, below all of them together. */
function Backtest({ backtest }: { backtest: Model['backtest'] }) {
  if (backtest === null) return null;
  const auc = (value: number | null) => (value === null ? '—' : value.toFixed(DIGITS.auc));
  const rows = [
    { name: all.all, figures: backtest },
    ...backtest.windows.map(({ from, to, ...figures }) => ({
      // Days are those of UTC; the window ends when its last day does.
      name: all.between(formatDay(from, 'UTC'), formatDay(Date.parse(to) - 1, 'UTC')),
      figures,
    })),
  ];
  return (
    <>
      <h3>{m.backtest}</h3>
      <p>{m.backtestHelp}</p>
      <Table
        label={m.backtest}
        head={[all.window, all.players, m.returned, m.brier, m.brierRecency, m.auc, m.aucRecency]}
        rows={rows.map(({ name, figures }) => ({
          key: name,
          cells: [
            name,
            formatInt(figures.players),
            formatInt(figures.returned),
            figures.brier.toFixed(DIGITS.brier),
            figures.brier_recency.toFixed(DIGITS.brier),
            auc(figures.auc),
            auc(figures.auc_recency),
          ],
        }))}
      />
    </>
  );
}

function Calibration({ bins }: { bins: Model['calibration'] }) {
  if (bins.length === 0) return null;
  return (
    <>
      <h3>{m.calibration}</h3>
      <p>{m.calibrationHelp}</p>
      <Table
        label={m.calibration}
        head={[m.chance, all.players, m.predicted, m.real]}
        rows={bins.map(({ from, to, players, predicted, returned }) => ({
          key: String(from),
          cells: [
            all.between(formatPercent(from), formatPercent(to)),
            formatInt(players),
            formatPercent(predicted),
            formatPercent(returned),
          ],
        }))}
      />
    </>
  );
}
