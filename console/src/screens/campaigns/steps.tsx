import type { ApiError } from '@player-engagement/client/admin';
import { useId } from 'react';
import { oneOf, CHANNELS } from '../../api/choices.ts';
import { fromLocalField, toLocalField } from '../../format/time.ts';
import { useZone } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Choice } from '../../ui/choice.tsx';
import { Field } from '../../ui/field.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { issueOf, type Draft } from './draft.ts';
import { useEventNames, useProviders, useSegments, useTemplatesOf } from './queries.ts';

const m = t.campaigns;
/** What people make; the third kind is that of journeys. */
const TYPES = ['broadcast', 'triggered'] as const;

export interface StepProps {
  draft: Draft;
  disabled: boolean;
  /** Of the last attempt to save. */
  error: ApiError | null;
  onChange: (change: Partial<Draft>) => void;
}

type TextField = 'name' | 'trigger_event' | 'goal_event' | 'goal_value_property';

function TextInput({
  field,
  label,
  hint,
  suggestions = [],
  draft,
  error,
  onChange,
}: Omit<StepProps, 'disabled'> & {
  field: TextField;
  label: string;
  hint?: string;
  suggestions?: readonly string[];
}) {
  const list = useId();
  return (
    <Field label={label} hint={hint} error={issueOf(error, field)}>
      {(control) => (
        <>
          <input
            {...control}
            dir="auto"
            maxLength={200}
            list={suggestions.length === 0 ? undefined : list}
            value={draft[field] ?? ''}
            onChange={({ target: { value } }) =>
              onChange({ [field]: value === '' && field !== 'name' ? null : value })
            }
          />
          <datalist id={list}>
            {suggestions.map((one) => (
              <option key={one} value={one} />
            ))}
          </datalist>
        </>
      )}
    </Field>
  );
}

/** To whom: name, channel, and the segment or event. */
export function AudienceStep({ disabled, ...step }: StepProps) {
  const { draft, error, onChange } = step;
  const events = useEventNames();
  return (
    <Form disabled={disabled}>
      <Row>
        <TextInput {...step} field="name" label={m.name} />
        <Field label={m.channel} error={issueOf(error, 'channel')}>
          {(control) => (
            <select
              {...control}
              value={draft.channel}
              onChange={({ target }) =>
                // What is of another channel cannot stay.
                onChange({
                  channel: oneOf(CHANNELS, target.value) ?? draft.channel,
                  template_id: null,
                  provider_id: null,
                })
              }
            >
              {CHANNELS.map((one) => (
                <option key={one} value={one}>
                  {t.names.channels[one]}
                </option>
              ))}
            </select>
          )}
        </Field>
        <Field label={m.type}>
          {(control) => (
            <select
              {...control}
              value={draft.type}
              onChange={({ target }) =>
                onChange({
                  type: oneOf(TYPES, target.value) ?? draft.type,
                  trigger_event: null,
                  schedule_at: null,
                  send_time: null,
                })
              }
            >
              {TYPES.map((one) => (
                <option key={one} value={one}>
                  {m.types[one]}
                </option>
              ))}
              {draft.type === 'journey' ? <option value="journey">{m.types['journey']}</option> : null}
            </select>
          )}
        </Field>
      </Row>
      <Choice
        label={m.segment}
        pages={useSegments()}
        value={draft.segment_id}
        none={draft.type === 'triggered' ? m.everyPlayer : m.noSegment}
        keyOf={({ id }) => id}
        nameOf={({ name }) => name}
        error={issueOf(error, 'segment_id')}
        onChange={(segment_id) => onChange({ segment_id })}
      />
      {draft.type === 'triggered' ? (
        <TextInput
          {...step}
          field="trigger_event"
          label={m.triggerEvent}
          hint={m.triggerHint}
          suggestions={events}
        />
      ) : null}
    </Form>
  );
}

/** What: the template, the provider, and the goal. */
export function ContentStep({ disabled, ...step }: StepProps) {
  const { draft, error, onChange } = step;
  const templates = useTemplatesOf(draft.channel);
  const providers = useProviders();
  const of_channel = providers.rows?.filter(({ channel }) => channel === draft.channel);
  return (
    <Form disabled={disabled}>
      <Row>
        <Choice
          label={m.template}
          pages={templates}
          value={draft.template_id}
          none={m.noTemplate}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          error={issueOf(error, 'template_id')}
          onChange={(template_id) => onChange({ template_id })}
        />
        <Choice
          label={m.provider}
          pages={{ ...providers, rows: of_channel }}
          value={draft.provider_id}
          none={m.anyProvider}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          error={issueOf(error, 'provider_id')}
          onChange={(provider_id) => onChange({ provider_id })}
        />
      </Row>
      <Row>
        <TextInput
          {...step}
          field="goal_event"
          label={m.goal}
          hint={m.goalHint}
          suggestions={useEventNames()}
        />
        <Field label={m.goalDays} error={issueOf(error, 'goal_attribution_days')}>
          {(control) => (
            <input
              {...control}
              type="number"
              min={1}
              max={365}
              value={draft.goal_attribution_days ?? ''}
              onChange={({ target: { value } }) =>
                onChange({ goal_attribution_days: value === '' ? null : Number(value) })
              }
            />
          )}
        </Field>
        <TextInput {...step} field="goal_value_property" label={m.goalValue} hint={m.goalValueHint} />
        <Field
          label={t.effect.holdoutPercent}
          hint={t.effect.holdoutHint}
          error={issueOf(error, 'holdout_percent')}
        >
          {(control) => (
            <input
              {...control}
              type="number"
              min={0}
              max={100}
              step="any"
              value={draft.holdout_percent}
              onChange={({ target: { value } }) => onChange({ holdout_percent: Number(value) })}
            />
          )}
        </Field>
      </Row>
    </Form>
  );
}

const HOUR_MS = 3_600_000;

/** When: at once, or at a time in the chosen zone; to all at once, or to each member at an hour of the member's own. */
export function TimeStep({ draft, disabled, error, onChange }: StepProps) {
  const { name: zone } = useZone();
  const { schedule_at, send_time } = draft;
  return (
    <Form disabled={disabled}>
      <Field label={m.timing}>
        {(control) => (
          <select
            {...control}
            value={schedule_at === null ? 'now' : 'later'}
            onChange={({ target }) =>
              onChange({
                schedule_at: target.value === 'now' ? null : new Date(nextHour(Date.now())).toISOString(),
              })
            }
          >
            <option value="now">{m.now}</option>
            <option value="later">{m.later}</option>
          </select>
        )}
      </Field>
      {schedule_at === null ? null : (
        <Field label={m.at(zone)} hint={m.atHint} error={issueOf(error, 'schedule_at')}>
          {(control) => (
            <input
              {...control}
              type="datetime-local"
              value={toLocalField(schedule_at, zone)}
              onChange={({ target }) => {
                const at = fromLocalField(target.value, zone);
                if (at !== undefined) onChange({ schedule_at: at });
              }}
            />
          )}
        </Field>
      )}
      {draft.type === 'broadcast' ? (
        <Field label={m.sendTime} hint={m.sendTimeHint} error={issueOf(error, 'send_time')}>
          {(control) => (
            <select
              {...control}
              value={send_time ?? 'all'}
              onChange={({ target }) => onChange({ send_time: target.value === 'player' ? 'player' : null })}
            >
              <option value="all">{m.sendTimes.all}</option>
              <option value="player">{m.sendTimes.player}</option>
            </select>
          )}
        </Field>
      ) : null}
    </Form>
  );
}

/** A whole hour, at least one from now. */
function nextHour(now_ms: number): number {
  return Math.ceil(now_ms / HOUR_MS + 1) * HOUR_MS;
}
