import { t } from '../../messages/t.ts';
import { Row } from '../../ui/form.tsx';
import { Check, Chosen, Json, OneOf, Span, Text, Whole } from './fields.tsx';
import { isObject, textOf, type Written } from './graph.ts';
import { useBonusTemplates, useProviders, useTemplates, useVocabulary } from './queries.ts';
import { ON_ERROR, WebhookForm, type NodeFormProps } from './webhook-form.tsx';
import { WhereForm } from './where-form.tsx';

const m = t.journeys.edit;

/** The settings of each type of node, without its ways. */
export const NODE_FORMS: Readonly<Record<string, (props: NodeFormProps) => React.ReactNode>> = {
  wait: WaitForm,
  wait_until: WaitUntilForm,
  wait_for_event: EventForm,
  send_message: MessageForm,
  update_player: PlayerForm,
  grant_bonus: BonusForm,
  call_webhook: WebhookForm,
  end: EndForm,
};

function WaitForm({ node, onSet }: NodeFormProps) {
  return (
    <Span
      label={m.duration}
      value={node['duration_ms']}
      onValue={(duration_ms) => onSet({ duration_ms: duration_ms ?? '' })}
    />
  );
}

const UNTIL = ['local_time', 'window', 'at'] as const;
const FIRST_UNTIL: Readonly<Record<(typeof UNTIL)[number], Written>> = {
  local_time: { local_time: '10:00', timezone: 'player' },
  window: { window: { from: '09:00', to: '18:00' }, timezone: 'player' },
  at: { at: 'context.trigger_payload.starts_at', past: 'continue' },
};

function WaitUntilForm({ node, onSet }: NodeFormProps) {
  const kind = UNTIL.find((one) => one in node) ?? 'local_time';
  const nothing = { local_time: undefined, window: undefined, at: undefined, days: undefined };
  const window = isObject(node['window']) ? node['window'] : {};
  return (
    <>
      <OneOf
        label={m.until}
        value={kind}
        choices={UNTIL.map((one) => [one, m.untils[one]])}
        onChoose={(next) => {
          const wanted = UNTIL.find((one) => one === next) ?? 'local_time';
          onSet({
            ...nothing,
            timezone: undefined,
            offset_ms: undefined,
            past: undefined,
            ...FIRST_UNTIL[wanted],
          });
        }}
      />
      {kind === 'at' ? (
        <Row>
          <Text
            required
            label={m.moment}
            hint={m.momentHint}
            value={node['at']}
            onValue={(at) => onSet({ at })}
          />
          <Span
            label={m.offset}
            hint={m.offsetHint}
            value={node['offset_ms']}
            onValue={(offset_ms) => onSet({ offset_ms })}
          />
          <OneOf
            label={m.past}
            value={textOf(node['past'])}
            choices={[
              ['continue', m.pasts.continue],
              ['exit', m.pasts.exit],
            ]}
            onChoose={(past) => onSet({ past })}
          />
        </Row>
      ) : (
        <Row>
          {kind === 'local_time' ? (
            <Text
              required
              label={m.time}
              hint={m.timeHint}
              value={node['local_time']}
              onValue={(local_time) => onSet({ local_time })}
            />
          ) : (
            (['from', 'to'] as const).map((end) => (
              <Text
                key={end}
                required
                label={m.window[end]}
                hint={m.timeHint}
                value={window[end]}
                onValue={(at) => onSet({ window: { ...window, [end]: at } })}
              />
            ))
          )}
          <Text
            required
            label={m.zone}
            hint={m.zoneHint}
            value={node['timezone']}
            onValue={(timezone) => onSet({ timezone })}
          />
        </Row>
      )}
      {kind === 'at' ? null : <Days days={node['days']} onDays={(days) => onSet({ days })} />}
    </>
  );
}

const DAYS = ['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun'] as const;

/** Days of the week; all of them are none, which means every day. */
function Days({ days, onDays }: { days: unknown; onDays: (days: unknown) => void }) {
  const chosen: readonly unknown[] = Array.isArray(days) ? days : DAYS;
  return (
    <fieldset>
      <legend>{m.days}</legend>
      {DAYS.map((day) => (
        <Check
          key={day}
          label={m.dayNames[day]}
          value={chosen.includes(day)}
          onValue={(is_in) => {
            const next = DAYS.filter((one) => (one === day ? is_in : chosen.includes(one)));
            onDays(next.length === DAYS.length ? undefined : next);
          }}
        />
      ))}
    </fieldset>
  );
}

function EventForm({ node, onSet }: NodeFormProps) {
  return (
    <>
      <Row>
        <EventName value={node['event']} onValue={(event) => onSet({ event })} />
        <Span
          label={m.timeout}
          value={node['timeout_ms']}
          onValue={(timeout_ms) => onSet({ timeout_ms: timeout_ms ?? '' })}
        />
      </Row>
      <WhereForm label={m.where} where={node['where']} onWhere={(where) => onSet({ where })} />
    </>
  );
}

/** The name of an event: of the catalogue, or one's own. */
export function EventName({ value, onValue }: { value: unknown; onValue: (value: unknown) => void }) {
  const names = useVocabulary()?.events.map(({ name }) => name) ?? [];
  return (
    <Text required label={m.event} hint={m.eventHint} value={value} suggestions={names} onValue={onValue} />
  );
}

function MessageForm({ node, onSet }: NodeFormProps) {
  const { template_id, provider_id, quiet_hours, on_error } = node;
  const templates = useTemplates();
  const providers = useProviders();
  const channel = templates.rows?.find(({ id }) => id === template_id)?.channel;
  const fitting = providers.rows?.filter((one) => channel === undefined || one.channel === channel);
  return (
    <>
      <Row>
        <Chosen
          label={m.template}
          pages={templates}
          value={template_id}
          onValue={(id) => onSet({ template_id: id })}
        />
        <Chosen
          label={m.provider}
          pages={{ ...providers, rows: fitting }}
          value={provider_id}
          onValue={(id) => onSet({ provider_id: id })}
        />
      </Row>
      <Row>
        <OneOf
          label={m.quiet}
          value={textOf(quiet_hours) || 'skip'}
          choices={[
            ['skip', m.quiets.skip],
            ['defer', m.quiets.defer],
          ]}
          onChoose={(next) => onSet({ quiet_hours: next })}
        />
        <OneOf
          label={m.onError}
          value={textOf(on_error) || 'fail'}
          choices={ON_ERROR}
          onChoose={(next) => onSet({ on_error: next })}
        />
      </Row>
    </>
  );
}

function PlayerForm({ node, onSet }: NodeFormProps) {
  const traits = isObject(node['set']) ? node['set']['traits'] : undefined;
  return (
    <Json
      label={m.traits}
      hint={m.traitsHint}
      value={traits}
      onValue={(next) => onSet({ set: { traits: next ?? {} } })}
    />
  );
}

function BonusForm({ node, onSet }: NodeFormProps) {
  const { template_id, deposit_amount, on_error } = node;
  return (
    <Row>
      <Chosen
        label={m.bonus}
        pages={useBonusTemplates()}
        value={template_id}
        onValue={(id) => onSet({ template_id: id })}
      />
      <Whole
        label={m.deposit}
        hint={m.depositHint}
        value={deposit_amount}
        onValue={(next) => onSet({ deposit_amount: next })}
      />
      <OneOf
        label={m.onError}
        value={textOf(on_error) || 'fail'}
        choices={ON_ERROR}
        onChoose={(next) => onSet({ on_error: next })}
      />
    </Row>
  );
}

function EndForm({ node, onSet }: NodeFormProps) {
  return <Text label={m.reason} value={node['reason']} onValue={(reason) => onSet({ reason })} />;
}
