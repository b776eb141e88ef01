import { wordIn } from '../../format/code-words.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { useNarrowed } from '../../ui/choice.tsx';
import { useTools } from './builder-context.ts';
import css from './builder.module.css';
import { Comparison, firstComparison } from './comparison.tsx';
import { Choice, Typed } from './controls.tsx';
import { EventName, Property, Where, Window } from './event-parts.tsx';
import { isFrozen } from './forms.ts';
import { isObject } from './tree.ts';
import { Span } from './controls.tsx';
import { numberOf, numberText, plainText, same } from './values.ts';
import { aggregateWord, fieldWord, operatorOf, type Word, type Written } from './vocabulary.ts';

const m = t.segments.build;
const w = t.segments.words;

export interface FormProps {
  written: Written;
  /** `key` names the control: its keystrokes are one step back. */
  onWritten: (next: Written, key: string) => void;
}

const OWN = '';
const named = (name: string) => [name, w.fields(name)] as const;

/** The form of each type of condition. */
export const FORMS: Readonly<Record<string, (props: FormProps) => React.ReactNode>> = {
  trait: TraitForm,
  event: EventForm,
  sequence: SequenceForm,
  segment: SegmentForm,
  message: MessageForm,
  random: RandomForm,
  list: ListForm,
};

/** A condition on another left side: the comparison stays when that side can be compared so, too. */
function useAgain() {
  const { vocabulary } = useTools();
  const shapeOf = (op: string) => operatorOf(vocabulary, op)?.value ?? 'none';
  return (next: Written, before: Word | undefined, after: Word): Written => {
    const is_alike =
      before?.kind === after.kind && same(before.values, after.values) && before.unit === after.unit;
    return is_alike ? next : { ...next, ...firstComparison(after, shapeOf) };
  };
}

function TraitForm({ written, onWritten }: FormProps) {
  const { vocabulary } = useTools();
  const again = useAgain();
  const { prefix } = vocabulary.custom_attributes;
  const field = plainText(written['field']);
  const is_custom = field.startsWith(prefix);
  const word = fieldWord(vocabulary, field);
  const choose = (next: string) => {
    const name = next === OWN ? prefix : next;
    const after = fieldWord(vocabulary, name);
    if (after !== undefined) onWritten(again({ ...written, field: name }, word, after), 'field');
  };
  return (
    <>
      <Choice
        label={m.field}
        value={is_custom ? OWN : field}
        choices={[...vocabulary.fields.map(({ name }) => named(name)), [OWN, m.attribute]]}
        onChoose={choose}
      />
      {is_custom ? (
        <Typed
          aria-label={m.attributeKey}
          value={field}
          textOf={(value) => plainText(value).slice(prefix.length)}
          valueOf={(text) => `${prefix}${text}`}
          onValue={(next) => onWritten({ ...written, field: next }, 'field')}
        />
      ) : null}
      {word === undefined ? null : <Comparison written={written} word={word} onWritten={onWritten} />}
    </>
  );
}

function EventForm({ written, onWritten }: FormProps) {
  const { vocabulary } = useTools();
  const again = useAgain();
  const { aggregate, property, event } = written;
  const word = aggregateWord(vocabulary, written);
  const needs_property =
    vocabulary.aggregates.find(({ name }) => name === aggregate)?.needs_property === true;
  const set = (change: Written, key: string) => {
    const next = { ...written, ...change };
    onWritten(again(next, word, aggregateWord(vocabulary, next)), key);
  };
  const chooseAggregate = (name: string) => {
    const needs = vocabulary.aggregates.find((one) => one.name === name)?.needs_property === true;
    set({ aggregate: name, property: needs ? (property ?? 'amount') : undefined }, 'aggregate');
  };
  return (
    <>
      <Choice
        label={m.aggregate}
        value={plainText(aggregate)}
        choices={vocabulary.aggregates.map(({ name }) => [name, w.aggregates[name] ?? name])}
        onChoose={chooseAggregate}
      />
      {needs_property || property !== undefined ? (
        <Property
          event={event}
          value={plainText(property)}
          onValue={(next) => set({ property: next }, 'property')}
        />
      ) : null}
      <EventName value={plainText(event)} onValue={(next) => set({ event: next }, 'event')} />
      <Comparison written={written} word={word} onWritten={onWritten} />
      <Window value={written['window']} onValue={(window, key) => onWritten({ ...written, window }, key)} />
      <Where written={written} onWritten={onWritten} />
    </>
  );
}

function SequenceForm({ written, onWritten }: FormProps) {
  const { vocabulary } = useTools();
  const { min_steps, max_steps } = vocabulary.limits;
  const steps = (Array.isArray(written['steps']) ? (written['steps'] as unknown[]) : []).map((step) =>
    isObject(step) ? step : {},
  );
  const set = (next: readonly Written[], key: string) => onWritten({ ...written, steps: next }, key);
  return (
    <>
      {steps.map((step, i) => (
        <div key={i} role="group" aria-label={m.step(i + 1)} className={css['step']}>
          <span>{m.step(i + 1)}</span>
          <EventName
            value={plainText(step['event'])}
            onValue={(event) => set(steps.with(i, { ...step, event }), `event ${i}`)}
          />
          {i === 0 ? null : (
            <Within
              value={step['within']}
              onValue={(within, key) => set(steps.with(i, { ...step, within }), `${key} ${i}`)}
            />
          )}
          <Where written={step} onWritten={(next, key) => set(steps.with(i, next), `${key} ${i}`)} />
          {steps.length <= min_steps ? null : (
            <Button kind="quiet" onClick={() => set(withoutStep(steps, i), 'remove step')}>
              {m.removeStep}
            </Button>
          )}
        </div>
      ))}
      {steps.length >= max_steps ? null : (
        <Button
          kind="quiet"
          onClick={() => set([...steps, { event: steps.at(-1)?.['event'], within: { days: 7 } }], 'add step')}
        >
          {m.addStep}
        </Button>
      )}
      <Window value={written['window']} onValue={(window, key) => onWritten({ ...written, window }, key)} />
    </>
  );
}

/** The steps without one; the first step follows none, so it has no time after the step before. */
function withoutStep(steps: readonly Written[], at: number): Written[] {
  return steps.toSpliced(at, 1).map((step, i) => (i === 0 ? { ...step, within: undefined } : step));
}

function Within({ value, onValue }: { value: unknown; onValue: (value: unknown, key: string) => void }) {
  return (
    <>
      <Choice
        label={m.within}
        value={value === undefined ? 'no' : 'some'}
        choices={[
          ['no', m.noWithin],
          ['some', m.someWithin],
        ]}
        onChoose={(next) => onValue(next === 'no' ? undefined : { days: 7 }, 'within')}
      />
      {value === undefined ? null : <Span value={value} onValue={onValue} />}
    </>
  );
}

function SegmentForm({ written, onWritten }: FormProps) {
  const { segments } = useTools();
  const { found, search } = useNarrowed(m.segment, segments, ({ name }) => name);
  return (
    <>
      <Choice
        label={m.membership}
        value={plainText(written['op'])}
        choices={[
          ['in', m.memberships.in],
          ['not_in', m.memberships.not_in],
        ]}
        onChoose={(op) => onWritten({ ...written, op }, 'op')}
      />
      <Choice
        label={m.segment}
        value={plainText(written['segment_id'])}
        choices={segments
          .filter((one) => found.includes(one) || one.id === written['segment_id'])
          .map(({ id, name }) => [id, name])}
        onChoose={(segment_id) => onWritten({ ...written, segment_id }, 'segment')}
      />
      {search}
    </>
  );
}

function ListForm({ written, onWritten }: FormProps) {
  const { segments } = useTools();
  const { list_id } = written;
  return (
    <Choice
      label={m.list}
      value={plainText(list_id)}
      choices={segments
        .filter((one) => isFrozen(one) || one.id === list_id)
        .map(({ id, name }) => [id, name])}
      onChoose={(id) => onWritten({ ...written, list_id: id }, 'list')}
    />
  );
}

function MessageForm({ written, onWritten }: FormProps) {
  const { vocabulary } = useTools();
  return (
    <>
      <Choice
        label={m.channel}
        value={plainText(written['channel'])}
        choices={vocabulary.channels.map((one) => [one, wordIn(t.names.channels, one)])}
        onChoose={(channel) => onWritten({ ...written, channel }, 'channel')}
      />
      <Choice
        label={m.status}
        value={plainText(written['status'])}
        choices={vocabulary.message_statuses.map((one) => [one, wordIn(t.overview.statuses, one)])}
        onChoose={(status) => onWritten({ ...written, status }, 'status')}
      />
      <Typed
        aria-label={m.campaign}
        placeholder={m.campaignHint}
        value={written['campaign_id']}
        textOf={plainText}
        valueOf={(text) => (text.trim() === '' ? undefined : text.trim())}
        onValue={(campaign_id) => onWritten({ ...written, campaign_id }, 'campaign')}
      />
      <Window value={written['window']} onValue={(window, key) => onWritten({ ...written, window }, key)} />
    </>
  );
}

function RandomForm({ written, onWritten }: FormProps) {
  return (
    <>
      <Typed
        aria-label={m.percent}
        inputMode="decimal"
        size={8}
        value={written['percent']}
        textOf={(value) => numberText(value)}
        valueOf={(text) => numberOf(text)}
        onValue={(percent) => onWritten({ ...written, percent }, 'percent')}
      />
      <span>{m.percent}</span>
      <Typed
        aria-label={m.salt}
        title={m.saltHelp}
        value={written['salt']}
        textOf={plainText}
        valueOf={(text) => text}
        onValue={(salt) => onWritten({ ...written, salt }, 'salt')}
      />
    </>
  );
}
