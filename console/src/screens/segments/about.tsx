import type { Issue } from '@player-engagement/client/admin';
import { oneOf } from '../../api/choices.ts';
import { t } from '../../messages/t.ts';
import { Field } from '../../ui/field.tsx';
import css from './builder.module.css';
import type { Draft } from './draft.ts';
import { STRATEGIES } from './queries.ts';

const m = t.segments;
const LONGEST = { name: 200, description: 2_000 };

/** What a segment is called, and how it is kept up to date. */
export function About({
  draft,
  issues,
  onChange,
}: {
  draft: Draft;
  issues: readonly Issue[];
  onChange: (change: Partial<Draft>, tag: string) => void;
}) {
  const { name, description, refresh_strategy, interval } = draft;
  const errorAt = (path: string) => issues.find((issue) => issue.path === path)?.message;
  return (
    <div className={css['fields']}>
      <Field label={m.build.name} error={errorAt('name')}>
        {(control) => (
          <input
            {...control}
            required
            maxLength={LONGEST.name}
            autoComplete="off"
            value={name}
            onChange={({ target }) => onChange({ name: target.value }, 'name')}
          />
        )}
      </Field>
      <Field label={m.build.description} error={errorAt('description')}>
        {(control) => (
          <input
            {...control}
            maxLength={LONGEST.description}
            autoComplete="off"
            value={description}
            onChange={({ target }) => onChange({ description: target.value }, 'description')}
          />
        )}
      </Field>
      <Field
        label={m.build.strategy}
        hint={m.strategyHelp[refresh_strategy]}
        error={errorAt('refresh_strategy')}
      >
        {(control) => (
          <select
            {...control}
            value={refresh_strategy}
            onChange={({ target }) =>
              onChange({ refresh_strategy: oneOf(STRATEGIES, target.value) ?? refresh_strategy }, 'strategy')
            }
          >
            {STRATEGIES.map((one) => (
              <option key={one} value={one}>
                {m.strategies[one]}
              </option>
            ))}
          </select>
        )}
      </Field>
      {refresh_strategy === 'scheduled' ? (
        <Field label={m.build.interval} error={errorAt('refresh_interval_minutes')}>
          {(control) => (
            <input
              {...control}
              inputMode="numeric"
              autoComplete="off"
              value={interval}
              onChange={({ target }) => onChange({ interval: target.value }, 'interval')}
            />
          )}
        </Field>
      ) : null}
    </div>
  );
}
