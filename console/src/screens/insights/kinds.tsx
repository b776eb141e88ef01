import { oneOf } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Choose } from '../../ui/choose.tsx';
import { Filter } from '../../ui/filter.tsx';
import css from './insights.module.css';
import { Late } from './late.tsx';
import { EventName, SeriesList } from './series.tsx';
import {
  VALUES,
  type DistributionQuery,
  type FunnelQuery,
  type InsightQuery,
  type RetentionQuery,
} from './query.ts';

const m = t.insights.editor;
const MOST_STEPS = 10;
const OWN = 'event';
const CUTS = ['deciles', 'percentiles'] as const;
const MODES = ['calendar', 'rolling_24h'] as const;
const COHORTS = ['first_deposit', 'signup'] as const;
const RETURNS = ['active', 'deposit', 'bet'] as const;
const BY = ['template', 'campaign'] as const;
const MONEY = ['deposits', 'ggr', 'ngr'] as const;

/** What a kind asks in addition to what all ask. */
export function OfKind({ query, onQuery }: { query: InsightQuery; onQuery: (query: InsightQuery) => void }) {
  switch (query.kind) {
    case 'trend':
      return <SeriesList query={query} onQuery={onQuery} />;
    case 'funnel':
      return <Steps query={query} onQuery={onQuery} />;
    case 'retention':
      return <Cohorts query={query} onQuery={onQuery} />;
    case 'lifecycle':
      return (
        <Days
          label={m.quietDays}
          days={query.quiet_days ?? 30}
          onDays={(quiet_days) => onQuery({ ...query, quiet_days })}
        />
      );
    case 'distribution':
      return <Parts query={query} onQuery={onQuery} />;
    case 'bonuses':
      return (
        <Choose
          label={m.by}
          options={BY.map((one) => ({ value: one, label: m.bonusesBy[one] }))}
          value={query.by ?? 'template'}
          onChange={(chosen) => onQuery({ ...query, by: oneOf(BY, chosen) })}
        />
      );
  }
}

/** A number of days, asked with once it is typed. */
function Days({ label, days, onDays }: { label: string; days: number; onDays: (days: number) => void }) {
  const take = (text: string) => {
    const next = Math.min(365, Math.max(1, Math.trunc(Number(text))));
    if (!Number.isNaN(next)) onDays(next);
  };
  return <Late label={label} value={String(days)} onText={take} />;
}

interface PartProps<Query> {
  query: Query;
  onQuery: (query: Query) => void;
}

function Steps({ query, onQuery }: PartProps<FunnelQuery>) {
  const { steps, within } = query;
  const set = (next: FunnelQuery['steps']) => onQuery({ ...query, steps: next });
  return (
    <>
      {steps.map((step, i) => (
        <fieldset key={i} className={css['group']}>
          <legend>{m.step(i + 1)}</legend>
          <EventName event={step.event} onEvent={(event) => set(steps.with(i, { event }))} />
          {step.where === undefined || step.where.length === 0 ? null : (
            <p className={css['soft']}>{m.where(step.where.length)}</p>
          )}
          {steps.length <= 2 ? null : (
            <Button kind="quiet" aria-label={m.removeStep(i + 1)} onClick={() => set(steps.toSpliced(i, 1))}>
              ✕
            </Button>
          )}
        </fieldset>
      ))}
      {steps.length >= MOST_STEPS ? null : (
        <Button kind="quiet" onClick={() => set([...steps, { event: 'deposit_confirmed' }])}>
          {m.addStep}
        </Button>
      )}
      <Days
        label={m.within}
        days={'days' in within ? within.days : within.hours / 24}
        onDays={(days) => onQuery({ ...query, within: { days } })}
      />
    </>
  );
}

function Cohorts({ query, onQuery }: PartProps<RetentionQuery>) {
  const { cohort, returns, value, mode = 'calendar' } = query;
  return (
    <>
      <Named
        label={m.cohort}
        value={cohort}
        names={m.cohorts}
        own={m.ownEvent}
        onOwn={(event) => onQuery({ ...query, cohort: { event } })}
        onName={(name) => onQuery({ ...query, cohort: oneOf(COHORTS, name) ?? 'signup' })}
      />
      <Named
        label={m.returns}
        value={returns}
        names={m.returned}
        own={m.anEvent}
        onOwn={(event) => onQuery({ ...query, returns: { event } })}
        onName={(name) => onQuery({ ...query, returns: oneOf(RETURNS, name) ?? 'active' })}
      />
      <Filter
        label={m.value}
        any={m.none}
        value={value}
        options={MONEY.map((one) => ({ value: one, name: m.values[one] }))}
        onChange={(next) => onQuery({ ...query, value: oneOf(MONEY, next) })}
      />
      <Choose
        label={m.mode}
        options={MODES.map((one) => ({ value: one, label: m.modes[one] }))}
        value={mode}
        onChange={(chosen) => onQuery({ ...query, mode: oneOf(MODES, chosen) })}
      />
    </>
  );
}

interface NamedProps {
  label: string;
  value: string | { event: string };
  names: Readonly<Record<string, string>>;
  /** The name of the choice of an event. */
  own: string;
  onName: (name: string) => void;
  onOwn: (event: string) => void;
}

/** One of some names, or an event. */
function Named({ label, value, names, own, onName, onOwn }: NamedProps) {
  return (
    <>
      <Choose
        label={label}
        options={[
          ...Object.entries(names).map(([name, text]) => ({ value: name, label: text })),
          { value: OWN, label: own },
        ]}
        value={typeof value === 'string' ? value : OWN}
        onChange={(name) => (name === OWN ? onOwn('login') : onName(name))}
      />
      {typeof value === 'string' ? null : <EventName event={value.event} onEvent={onOwn} />}
    </>
  );
}

function Parts({ query, onQuery }: PartProps<DistributionQuery>) {
  const { value, cuts = 'deciles' } = query;
  const is_own = typeof cuts !== 'string';
  return (
    <>
      <Choose
        label={m.ofPlayer}
        options={VALUES.map((one) => ({ value: one, label: t.insights.distribution.values[one] }))}
        value={value}
        onChange={(chosen) => onQuery({ ...query, value: oneOf(VALUES, chosen) ?? 'ngr' })}
      />
      <Choose
        label={m.cuts}
        options={[
          ...CUTS.map((one) => ({ value: one, label: m.cutsOf[one] })),
          ...(is_own ? [{ value: OWN, label: m.ownCuts(cuts.length) }] : []),
        ]}
        value={is_own ? OWN : cuts}
        onChange={(chosen) => onQuery({ ...query, cuts: oneOf(CUTS, chosen) ?? cuts })}
      />
    </>
  );
}
