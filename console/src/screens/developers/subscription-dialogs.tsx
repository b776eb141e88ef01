import type { CreateEventSubscriptionBody } from '@player-engagement/client/admin';
import { useState } from 'react';
import { useChange } from '../../api/queries.ts';
import type { Texts } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { ActDialog } from '../../ui/act-dialog.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Form } from '../../ui/form.tsx';
import { Input, issueAt, optionsOf, Select } from '../../ui/record-field.tsx';
import { SUBSCRIBED_EVENTS, type SubscribedEvent, type Subscription } from './queries.ts';
import { Secret } from './secret.tsx';

const m = t.developers.subscription;
const HOUR_MS = 3_600_000;
/** How far back a replay goes, in hours; a little less than the 7 days that are kept. */
const BACK = { '1': m.hour, '24': m.day, '72': m.threeDays, '167': m.week };

/** Makes a subscription, and shows its secret. */
export function NewSubscription({ onClose }: { onClose: () => void }) {
  const [texts, setTexts] = useState<Texts>({ name: '', url: '' });
  const [events, setEvents] = useState<ReadonlySet<SubscribedEvent>>(new Set());
  const create = useChange('eventSubscriptions.create');
  const made = create.data?.data;
  if (made !== undefined) return <NewSecret title={m.made(made.name)} of={made} onClose={onClose} />;
  const form = {
    texts,
    issues: create.error?.issues ?? [],
    change: (change: Texts) => setTexts((before) => ({ ...before, ...change })),
  };
  const { name = '', url = '' } = texts;
  const body: CreateEventSubscriptionBody = { name: name.trim(), url: url.trim(), events: [...events] };
  return (
    <ActDialog
      title={m.new}
      verb={m.create}
      busy={create.isPending}
      ready={body.name !== '' && body.url !== '' && events.size > 0}
      error={create.error}
      onAct={() => create.mutate({ inputs: [body] })}
      onClose={onClose}
    >
      <Form disabled={create.isPending}>
        <Input form={form} path="name" label={t.developers.name} />
        <Input form={form} path="url" label={t.developers.endpoint} hint={m.urlHint} max={2_000} />
        <Events chosen={events} onChoose={setEvents} />
        {issueAt(form, 'events')}
      </Form>
    </ActDialog>
  );
}

/** The events that a subscription may be sent. */
function Events({
  chosen,
  onChoose,
}: {
  chosen: ReadonlySet<SubscribedEvent>;
  onChoose: (events: ReadonlySet<SubscribedEvent>) => void;
}) {
  const toggle = (event: SubscribedEvent, is_chosen: boolean) =>
    onChoose(new Set(SUBSCRIBED_EVENTS.filter((one) => (one === event ? is_chosen : chosen.has(one)))));
  return (
    <fieldset>
      <legend>{m.events}</legend>
      {SUBSCRIBED_EVENTS.map((event) => (
        <label key={event}>
          <input
            type="checkbox"
            checked={chosen.has(event)}
            onChange={({ target }) => toggle(event, target.checked)}
          />{' '}
          <code>{event}</code>{' '}
        </label>
      ))}
    </fieldset>
  );
}

/** Makes a new secret of the subscription, and shows it. */
export function RotateSubscriptionSecret({ of, onClose }: { of: Subscription; onClose: () => void }) {
  const rotate = useChange('eventSubscriptions.rotateSecret');
  const made = rotate.data?.data;
  if (made !== undefined) return <NewSecret title={m.rotated(of.name)} of={made} onClose={onClose} />;
  return (
    <Confirm
      title={m.rotateTitle(of.name)}
      verb={m.rotateVerb}
      busy={rotate.isPending}
      error={rotate.error}
      onClose={onClose}
      onConfirm={() => rotate.mutate({ inputs: [of.id] })}
    >
      <p>{m.rotateText}</p>
    </Confirm>
  );
}

function NewSecret({ title, of, onClose }: { title: string; of: { secret: string }; onClose: () => void }) {
  return (
    <Secret title={title} secret={of.secret} what={m.secret} onClose={onClose}>
      <p>{m.onlyOnce}</p>
    </Secret>
  );
}

/** Asks since when events are sent again. */
export function ReplayEvents({ of: { id, name }, onClose }: { of: Subscription; onClose: () => void }) {
  const [texts, setTexts] = useState<Texts>({ hours: '1' });
  const replay = useChange('eventSubscriptions.replay');
  const submit = async () => {
    const from = new Date(Date.now() - Number(texts['hours']) * HOUR_MS).toISOString();
    const answer = await replay.mutateAsync({ inputs: [id, { from }] }).catch(() => undefined);
    if (answer !== undefined) onClose();
  };
  return (
    <ActDialog
      title={m.replayTitle(name)}
      verb={m.replay}
      busy={replay.isPending}
      error={replay.error}
      onAct={() => void submit()}
      onClose={onClose}
    >
      <p>{m.replayText}</p>
      <Form disabled={replay.isPending}>
        <Select
          form={{ texts, issues: [], change: (change) => setTexts({ ...texts, ...change }) }}
          path="hours"
          label={m.since}
          options={optionsOf(BACK)}
        />
      </Form>
    </ActDialog>
  );
}

/** Asks before a subscription is deleted. */
export function DeleteSubscription({
  of: { id, name },
  onClose,
  onDeleted,
}: {
  of: Subscription;
  onClose: () => void;
  onDeleted: () => void;
}) {
  const remove = useChange('eventSubscriptions.delete');
  const submit = async () => {
    const answer = await remove.mutateAsync({ inputs: [id] }).catch(() => undefined);
    if (answer !== undefined) onDeleted();
  };
  return (
    <Confirm
      title={m.deleteTitle(name)}
      verb={m.deleteVerb}
      busy={remove.isPending}
      error={remove.error}
      onClose={onClose}
      onConfirm={() => void submit()}
    >
      <p>{m.deleteText}</p>
    </Confirm>
  );
}
