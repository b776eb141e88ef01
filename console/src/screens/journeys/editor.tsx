import type { CreateJourneyBody, PatchJourneyBody } from '@player-engagement/client/admin';
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Answer } from '../../api/client.ts';
import { asWritten, writeExactly } from '../../api/json.ts';
import { newActionKey, useSave } from '../../api/queries.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { Failed } from '../../ui/states.tsx';
import { useUndoable } from '../../ui/undo.ts';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { isConflict } from '../../ui/conflict.tsx';
import { Issues } from './publish.tsx';
import { Both } from './both.tsx';
import { changesOf, draftOf, issuesByPart, localIssues, newDraft, type Draft } from './draft.ts';
import { Text } from './fields.tsx';
import { idOf } from './graph.ts';
import css from './journeys.module.css';
import { useNames } from './names.ts';
import { Picture } from './pictured.tsx';
import { type JourneyIssue, type JourneyRecord } from './queries.ts';
import { SettingsForm, TriggerForm } from './rules-form.tsx';
import { StepList } from './step-list.tsx';

const m = t.journeys.edit;
const NO_NOTES: ReadonlyMap<string, string> = new Map();

interface EditorProps {
  /** The journey as the page was opened with it; absent: it is to be created. */
  journey?: Answer<JourneyRecord>;
}

/** Edits a journey: everything in the list, by buttons and forms; the canvas draws the same graph at once. */
export function Editor({ journey }: EditorProps) {
  const navigate = useNavigate();
  const [base, setBase] = useState(() => (journey === undefined ? newDraft() : draftOf(journey.data)));
  const [etag, setEtag] = useState(journey?.etag);
  const steps = useUndoable<Draft>(() => base);
  const draft = steps.present;
  const [selected, setSelected] = useState<string>();
  const [sent, setSent] = useState<{ draft: Draft; issues: readonly JourneyIssue[] }>();
  const form = useRef<HTMLFormElement>(null);
  // A second click, and another try after a failure, are the same action: nothing is made twice.
  const action = useRef<{ content: string; key: string }>(undefined);
  const save = useSave('journeys.create', 'journeys.update');
  const nameOf = useNames(draft.trigger, draft.graph, draft.settings);
  const changed = changesOf(draft, base);
  const is_new = journey === undefined;
  const issues = sent === undefined ? new Map() : issuesByPart(draft, sent.draft, sent.issues);
  const wrong = new Set(draft.graph.nodes.map(idOf).filter((id) => issues.has(`node ${id}`)));

  const set = (change: Partial<Draft>, tag?: string) => steps.change((old) => ({ ...old, ...change }), tag);
  const leave = (id: string | undefined) =>
    void navigate({
      ...(id === undefined ? { to: '/journeys' } : { to: '/journeys/$id', params: { id } }),
      ignoreBlocker: true,
    });
  const refuse = (found: readonly JourneyIssue[]) => {
    setSent({ draft, issues: found });
    const node_id = found.find((one) => one.node_id !== undefined)?.node_id;
    if (node_id !== undefined) setSelected(node_id);
  };
  const store = (over = etag) => {
    if (save.isPending) return;
    const local = localIssues(draft, { name: m.required, json: m.notJson });
    save.reset();
    if (local.length > 0) return refuse(local);
    if (!is_new && changed.length === 0) return leave(journey.data.id);
    const parts = is_new ? (['name', 'trigger', 'graph', 'settings'] as const) : changed;
    // An active journey is not changed under its runs: what is saved waits until it is published.
    const query = journey?.data.status === 'active' ? { draft: 'true' } : {};
    // The API judges what the editor says.
    const body: unknown = asWritten(Object.fromEntries(parts.map((part) => [part, draft[part]])));
    const content = writeExactly([over, body]);
    if (action.current?.content !== content) action.current = { content, key: newActionKey() };
    save.mutate(
      {
        ...(is_new
          ? { create: [body as CreateJourneyBody] }
          : { update: [journey.data.id, body as PatchJourneyBody], query, if_match: over }),
        idempotency_key: action.current.key,
      },
      {
        onSuccess: ({ data }) => leave(data.id),
        onError: (error) => refuse(error.issues as readonly JourneyIssue[]),
      },
    );
  };
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector('dialog[open]') !== null)
      return;
    const run = { z: event.shiftKey ? steps.redo : steps.undo, y: steps.redo, s: () => store() }[
      event.key.toLowerCase()
    ];
    if (run === undefined) return;
    event.preventDefault();
    if (!save.isPending) run();
  });
  useEffect(() => {
    // On the whole page: a step back may remove the control that has the focus.
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  useEffect(() => {
    if (sent !== undefined) form.current?.querySelector<HTMLElement>('[data-issues]')?.focus();
  }, [sent]);
  const conflict = isConflict(save.error) ? save.error : undefined;
  return (
    <form
      ref={form}
      noValidate
      className={css['editor']}
      onSubmit={(event) => {
        event.preventDefault();
        store();
      }}
    >
      <UnsavedGuard dirty={changed.length > 0 && !save.isSuccess} />
      <div className={css['cardHead']}>
        <span className={css['bar']}>
          <Button onClick={steps.undo} disabled={!steps.can_undo || save.isPending}>
            {m.undo}
          </Button>
          <Button onClick={steps.redo} disabled={!steps.can_redo || save.isPending}>
            {m.redo}
          </Button>
          <span className={css['soft']}>{m.keys}</span>
        </span>
        <span className={css['bar']}>
          <Button
            onClick={() =>
              void navigate(
                is_new ? { to: '/journeys' } : { to: '/journeys/$id', params: { id: journey.data.id } },
              )
            }
          >
            {m.cancel}
          </Button>
          <Button kind="primary" type="submit" disabled={save.isPending}>
            {save.isPending ? m.saving : is_new ? m.create : m.save}
          </Button>
        </span>
      </div>
      {journey?.data.status === 'active' ? <p className={css['note']}>{m.activeNote}</p> : null}
      {conflict === undefined ? null : (
        <Both
          error={conflict}
          mine={draft}
          nameOf={nameOf}
          onMine={(newer) => store(newer)}
          onTheirs={(record, newer) => {
            const theirs = draftOf(record);
            setBase(theirs);
            setEtag(newer);
            steps.change(() => theirs);
            setSent(undefined);
            save.reset();
          }}
        />
      )}
      {save.error === null || conflict !== undefined ? null : <Failed error={save.error} />}
      <Form disabled={save.isPending}>
        <Text
          required
          label={m.name}
          value={draft.name}
          onValue={(name) => set({ name: String(name) }, 'name')}
        />
        <PartIssues issues={issues.get('name')} />
        <details open={is_new || issues.has('trigger') || undefined}>
          <summary>{m.trigger}</summary>
          <PartIssues issues={issues.get('trigger')} />
          <div className={css['part']}>
            <TriggerForm value={draft.trigger} onValue={(trigger, tag) => set({ trigger }, tag)} />
          </div>
        </details>
        <details open={issues.has('settings') || undefined}>
          <summary>{m.settings}</summary>
          <PartIssues issues={issues.get('settings')} />
          <div className={css['part']}>
            <SettingsForm value={draft.settings} onValue={(settings, tag) => set({ settings }, tag)} />
          </div>
        </details>
        <h2>{t.journeys.steps}</h2>
        <PartIssues issues={issues.get('graph')} />
        <div className={css['both']}>
          <StepList
            graph={draft.graph}
            nameOf={nameOf}
            issues={issues}
            selected={selected}
            onSelect={setSelected}
            onGraph={(next, tag) => steps.change((old) => ({ ...old, graph: next(old.graph) }), tag)}
          />
          <Picture
            graph={draft.graph}
            nameOf={nameOf}
            notes={NO_NOTES}
            wrong={wrong}
            selected={selected}
            onSelect={setSelected}
          />
        </div>
      </Form>
    </form>
  );
}

/** What the service refuses in a part that is not a step. */
function PartIssues({ issues }: { issues: readonly JourneyIssue[] | undefined }) {
  if (issues === undefined) return null;
  return (
    <div role="alert" className={css['problem']} tabIndex={-1} data-issues>
      <Issues issues={issues} />
    </div>
  );
}
