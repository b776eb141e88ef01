import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Buttons, Row } from '../../ui/form.tsx';
import { without } from './edit-graph.ts';
import { Check, Chosen, OneOf, Span, Text, Whole } from './fields.tsx';
import { isObject, textOf, type Written } from './graph.ts';
import css from './journeys.module.css';
import { EventName } from './node-forms.tsx';
import { useSegments } from './queries.ts';
import { WhereForm } from './where-form.tsx';

const m = t.journeys.edit;
const KINDS = ['event', 'segment_entered', 'segment_exited', 'schedule', 'api'] as const;
const MOST_EXITS = 10;

interface PartProps {
  value: Written;
  onValue: (next: Written, tag?: string) => void;
}

function firstTrigger(kind: string, before: Written): Written {
  const segment_id = textOf(before['segment_id']);
  if (kind === 'event') return { kind, event: 'deposit_confirmed' };
  if (kind === 'schedule') return { kind, cron: '0 10 * * *', timezone: 'UTC', segment_id };
  return kind === 'api' ? { kind } : { kind, segment_id };
}

/** What starts runs. */
export function TriggerForm({ value: trigger, onValue }: PartProps) {
  const segments = useSegments();
  const kind = textOf(trigger['kind']);
  const set = (change: Written) =>
    onValue(without({ ...trigger, ...change }), `trigger ${Object.keys(change).join()}`);
  const segment = (
    <Chosen
      label={m.segment}
      pages={segments}
      value={trigger['segment_id']}
      onValue={(segment_id) => set({ segment_id })}
    />
  );
  return (
    <>
      <OneOf
        label={t.journeys.starts}
        value={kind}
        choices={KINDS.map((one) => [one, m.triggers[one]])}
        onChoose={(next) => onValue(firstTrigger(next, trigger))}
      />
      {kind === 'event' ? (
        <>
          <EventName value={trigger['event']} onValue={(event) => set({ event })} />
          <WhereForm label={m.where} where={trigger['where']} onWhere={(where) => set({ where })} />
        </>
      ) : null}
      {kind === 'segment_entered' || kind === 'segment_exited' ? (
        <>
          {segment}
          {kind === 'segment_entered' ? (
            <Check
              label={m.existing}
              value={trigger['existing_members'] === true}
              onValue={(is_on) => set({ existing_members: is_on ? true : undefined })}
            />
          ) : null}
        </>
      ) : null}
      {kind === 'schedule' ? (
        <Row>
          <Text
            required
            label={m.cron}
            hint={m.cronHint}
            value={trigger['cron']}
            onValue={(cron) => set({ cron })}
          />
          <Text
            required
            label={m.zone}
            hint={m.zoneOnlyHint}
            value={trigger['timezone']}
            onValue={(timezone) => set({ timezone })}
          />
          {segment}
        </Row>
      ) : null}
    </>
  );
}

/** How often a player may enter, and what ends a run early. */
export function SettingsForm({ value: settings, onValue }: PartProps) {
  const set = (change: Written) =>
    onValue(without({ ...settings, ...change }), `settings ${Object.keys(change).join()}`);
  const again = isObject(settings['re_entry']) ? settings['re_entry'] : { mode: 'always' };
  const goal = isObject(settings['goal']) ? settings['goal'] : undefined;
  const setGoal = (change: Written) => set({ goal: without({ ...goal, ...change }) });
  return (
    <>
      <Row>
        <OneOf
          label={t.journeys.reEntry}
          value={textOf(again['mode'])}
          choices={Object.entries(t.journeys.reEntries)}
          onChoose={(mode) => set({ re_entry: { ...again, mode } })}
        />
        <Span
          label={m.minInterval}
          hint={m.optional}
          value={again['min_interval_ms']}
          onValue={(min_interval_ms) => set({ re_entry: without({ ...again, min_interval_ms }) })}
        />
      </Row>
      <Exits rules={settings['exit_on']} onRules={(exit_on) => set({ exit_on })} />
      <Check
        label={m.hasGoal}
        value={goal !== undefined}
        onValue={(is_on) => set({ goal: is_on ? { event: 'deposit_confirmed', window_days: 7 } : undefined })}
      />
      {goal === undefined ? null : (
        <div role="group" aria-label={m.goal} className={css['branch']}>
          <Row>
            <EventName value={goal['event']} onValue={(event) => setGoal({ event })} />
            <Whole
              label={m.goalDays}
              value={goal['window_days']}
              onValue={(window_days) => setGoal({ window_days: window_days ?? '' })}
            />
          </Row>
          <WhereForm label={m.where} where={goal['where']} onWhere={(where) => setGoal({ where })} />
          <Check
            label={m.goalExit}
            value={goal['exit'] !== false}
            onValue={(is_on) => setGoal({ exit: is_on ? undefined : false })}
          />
        </div>
      )}
      <Row>
        <Whole
          label={m.holdout}
          hint={m.holdoutHint}
          value={settings['holdout_percent']}
          onValue={(holdout_percent) => set({ holdout_percent })}
        />
        <Whole
          label={m.maxEntries}
          hint={m.optional}
          value={settings['max_entries_per_hour']}
          onValue={(max_entries_per_hour) => set({ max_entries_per_hour })}
        />
      </Row>
    </>
  );
}

/** Events, and segments that a player leaves, which end a run early. */
function Exits({ rules, onRules }: { rules: unknown; onRules: (rules: unknown) => void }) {
  const segments = useSegments();
  const listed = Array.isArray(rules) ? rules.filter(isObject) : [];
  const write = (next: readonly Written[]) => onRules(next.length === 0 ? undefined : next);
  return (
    <div role="group" aria-label={m.exits} className={css['clauses']}>
      {listed.map((rule, i) => {
        const set = (next: Written) => write(listed.with(i, without(next)));
        return (
          <div key={i} role="group" aria-label={m.exit(i + 1)} className={css['branch']}>
            {'segment_exited' in rule ? (
              <Chosen
                label={m.exitSegment}
                pages={segments}
                value={rule['segment_exited']}
                onValue={(id) => set({ segment_exited: id })}
              />
            ) : (
              <>
                <EventName value={rule['event']} onValue={(event) => set({ ...rule, event })} />
                <WhereForm
                  label={m.where}
                  where={rule['where']}
                  onWhere={(where) => set({ ...rule, where })}
                />
              </>
            )}
            <Buttons>
              <Button kind="quiet" onClick={() => write(listed.filter((_, at) => at !== i))}>
                {m.removeExit(i + 1)}
              </Button>
            </Buttons>
          </div>
        );
      })}
      {listed.length >= MOST_EXITS ? null : (
        <Buttons>
          <Button kind="quiet" onClick={() => write([...listed, { event: 'withdrawal_confirmed' }])}>
            {m.addExitEvent}
          </Button>
          <Button kind="quiet" onClick={() => write([...listed, { segment_exited: '' }])}>
            {m.addExitSegment}
          </Button>
        </Buttons>
      )}
    </div>
  );
}
