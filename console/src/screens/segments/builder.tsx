import { useBlocker, useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent, useRef, useState } from 'react';
import type { Answer } from '../../api/client.ts';
import type { Issue } from '@player-engagement/client/admin';
import { writeExactly } from '../../api/json.ts';
import { newActionKey, useSave, type SaveOf } from '../../api/queries.ts';
import type { Currency } from '../../format/money.ts';
import { t } from '../../messages/t.ts';
import { Button } from '../../ui/button.tsx';
import { Form } from '../../ui/form.tsx';
import { Failed } from '../../ui/states.tsx';
import { Audience, Json } from './audience.tsx';
import { BuilderContext, type BuilderTools, type FindFocus } from './builder-context.ts';
import { ConflictDialog, JsonDialog, LeaveDialog } from './builder-dialogs.tsx';
import css from './builder.module.css';
import { Part } from './builder-tree.tsx';
import { About } from './about.tsx';
import {
  creationOf,
  definitionText,
  differing,
  draftOf,
  fieldsOf,
  fieldsOfDraft,
  newDraft,
  patchOf,
  type Draft,
} from './draft.ts';
import { withForms } from './forms.ts';
import { issuesByNode, localIssues } from './issues.ts';
import { usePreview, useSegmentChoice, type SegmentRecord } from './queries.ts';
import { nodeOf, ROOT } from './tree.ts';
import { useUndoable } from '../../ui/undo.ts';
import { useLater } from './later.ts';
import type { Vocabulary } from './vocabulary.ts';

const m = t.segments.build;
/** How long the keys must rest before the size is asked. */
const DEBOUNCE_MS = 300;

interface BuilderProps {
  vocabulary: Vocabulary;
  currency: Currency | undefined;
  /** The segment as the service has it now; absent: it is to be created. */
  latest?: Answer<SegmentRecord>;
  onAskAgain?: () => Promise<unknown>;
  /** Throws away what was edited, and begins with the latest version. */
  onStartAgain?: () => void;
}

/** Edits a segment: its tree of conditions, who is in it while it is edited, and the definition as JSON. */
export function Builder({ vocabulary, currency, latest, onAskAgain, onStartAgain }: BuilderProps) {
  const navigate = useNavigate();
  const scale = currency?.scale ?? 0;
  const [base, setBase] = useState(latest);
  const steps = useUndoable<Draft>(() => {
    const draft = base === undefined ? newDraft() : draftOf(base.data);
    return { ...draft, root: withForms(draft.root, vocabulary, scale) };
  });
  const draft = steps.present;
  const [untouched] = useState(draft);
  const [open, setOpen] = useState<'json' | 'conflict'>();
  const [checked, setChecked] = useState(0);
  // What the service has refused to save, for as long as the draft is what it was.
  const [refused, setRefused] = useState<{ draft: Draft; issues: readonly Issue[] }>();
  const saved = useRef(false);
  const form = useRef<HTMLFormElement>(null);
  const focus = useRef<ReturnType<FindFocus>>(undefined);
  // A second click, and another try after a failure, are the same action: nothing is made twice.
  const action = useRef<{ content: string; key: string }>(undefined);
  const save = useSave('segments.create', 'segments.update');

  const fields = fieldsOfDraft(draft);
  const before = base === undefined ? fieldsOfDraft(untouched) : fieldsOf(base.data);
  const is_dirty =
    draft !== untouched &&
    (fields === undefined || before === undefined || differing(fields, before).length > 0);
  const problems = localIssues(draft);
  const written = problems.some(({ path }) => path.startsWith(ROOT)) ? undefined : definitionText(draft.root);
  const json = definitionText(draft.root, 2);
  const asked = useLater(written, DEBOUNCE_MS);
  const size = usePreview(asked, { per_condition: true, warnings: true });
  const is_current = asked === written && asked !== undefined && !size.isPlaceholderData;
  const issues = [
    ...(checked > 0 ? problems : problems.filter(({ why }) => why === 'text')),
    ...(is_current ? (size.error?.issues ?? []) : []),
    ...(refused?.draft === draft ? refused.issues : []),
  ];
  const segments = useSegmentChoice();
  const segment_rows = (segments.rows ?? []).filter(({ id }) => id !== base?.data.id);

  const blocker = useBlocker({
    shouldBlockFn: ({ current, next }) => is_dirty && !saved.current && current.pathname !== next.pathname,
    enableBeforeUnload: () => is_dirty && !saved.current,
    withResolver: true,
  });

  useEffect(() => {
    const wanted = focus.current;
    focus.current = undefined;
    if (wanted?.id === undefined) return;
    const node = form.current?.querySelector(`[data-node="${CSS.escape(wanted.id)}"]`);
    const button =
      wanted.act === undefined ? null : node?.querySelector<HTMLElement>(`[data-act="${wanted.act}"]`);
    (button ?? node?.querySelector<HTMLElement>('select, textarea, input, button'))?.focus();
  }, [draft]);

  useEffect(() => {
    if (checked > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [checked]);

  const set = (change: Partial<Draft>, tag?: string) => steps.change((old) => ({ ...old, ...change }), tag);
  const tools: BuilderTools = {
    vocabulary,
    currency,
    sayer: { vocabulary, currency, names: new Map(segment_rows.map(({ id, name }) => [id, name])) },
    segments: segment_rows,
    change: (next, { tag, focus: find } = {}) => {
      const root = next(draft.root);
      focus.current = find?.(draft.root, root);
      set({ root }, tag);
    },
    issues: issuesByNode(draft.root, issues),
    warnings: new Map(is_current ? size.data?.data.warnings?.map((one) => [one.path, one]) : []),
    sizes: new Map(is_current ? size.data?.data.per_condition?.map((one) => [one.path, one.size]) : []),
  };

  const leave = () =>
    void navigate(
      base === undefined ? { to: '/segments' } : { to: '/segments/$id', params: { id: base.data.id } },
    );
  const compare = async () => {
    await onAskAgain?.();
    setOpen('conflict');
  };
  /** Saves over the version `over`; absent: as a new segment. */
  const store = (over: Answer<SegmentRecord> | undefined) => {
    setChecked(checked + 1);
    if (fields === undefined || problems.length > 0 || save.isPending) return;
    const changes = over === undefined ? [] : differing(fields, fieldsOf(over.data));
    if (over !== undefined && changes.length === 0) return leave();
    const request: SaveOf<typeof save> =
      over === undefined
        ? { create: [creationOf(fields)] }
        : { update: [over.data.id, patchOf(fields, changes)], if_match: over.etag };
    const content = writeExactly(request);
    if (action.current?.content !== content) action.current = { content, key: newActionKey() };
    save.mutate(
      { ...request, idempotency_key: action.current.key },
      {
        onSuccess: ({ data }) => {
          saved.current = true;
          void navigate({ to: '/segments/$id', params: { id: data.id } });
        },
        onError: (error) => {
          setRefused({ draft, issues: error.issues });
          if (error.status === 412) void compare();
        },
      },
    );
  };
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || document.querySelector('dialog[open]') !== null)
      return;
    const run = {
      z: event.shiftKey ? steps.redo : steps.undo,
      y: steps.redo,
      s: () => store(base),
    }[event.key.toLowerCase()];
    if (run === undefined) return;
    event.preventDefault();
    if (!save.isPending) run();
  });
  useEffect(() => {
    // On the whole page: a step back may remove the control that has the focus.
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, []);
  const changed_elsewhere =
    !save.isPending &&
    !save.isSuccess &&
    base !== undefined &&
    latest !== undefined &&
    differing(fieldsOf(base.data), fieldsOf(latest.data)).length > 0;

  return (
    <BuilderContext value={tools}>
      <form
        ref={form}
        noValidate
        className={css['layout']}
        onSubmit={(event) => {
          event.preventDefault();
          store(base);
        }}
      >
        <div className={css['form']}>
          <div className={css['head']}>
            <span className={css['tools']}>
              <Button onClick={steps.undo} disabled={!steps.can_undo || save.isPending}>
                {m.undo}
              </Button>
              <Button onClick={steps.redo} disabled={!steps.can_redo || save.isPending}>
                {m.redo}
              </Button>
            </span>
            <span className={css['soft']}>{m.keys}</span>
            <span className={css['tools']}>
              <Button onClick={leave}>{m.cancel}</Button>
              <Button kind="primary" type="submit" disabled={save.isPending}>
                {save.isPending ? m.saving : m.save}
              </Button>
            </span>
          </div>
          {save.error === null || save.error.status === 412 ? null : <Failed error={save.error} />}
          {changed_elsewhere && open !== 'conflict' ? (
            <p role="status">
              {t.segments.conflict.notice}{' '}
              <Button kind="quiet" onClick={() => setOpen('conflict')}>
                {t.segments.conflict.compare}
              </Button>
            </p>
          ) : null}
          <Form disabled={save.isPending}>
            <About draft={draft} issues={issues} onChange={set} />
            <h2>{m.tree}</h2>
            <Part node={draft.root} path={ROOT} depth={1} />
          </Form>
        </div>
        <div className={css['side']}>
          <Audience definition={written} asked={asked} size={size} />
          <Json text={json} disabled={save.isPending} onEdit={() => setOpen('json')} />
        </div>
      </form>
      {open === 'json' && json !== undefined ? (
        <JsonDialog
          text={json}
          onApply={(definition) => set({ root: withForms(nodeOf(definition), vocabulary, scale) })}
          onClose={() => setOpen(undefined)}
        />
      ) : null}
      {open === 'conflict' && fields !== undefined && latest !== undefined ? (
        <ConflictDialog
          mine={fields}
          theirs={fieldsOf(latest.data)}
          onKeepMine={() => {
            setOpen(undefined);
            setBase(latest);
            store(latest);
          }}
          onTakeTheirs={() => onStartAgain?.()}
          onClose={() => setOpen(undefined)}
        />
      ) : null}
      {blocker.status === 'blocked' ? <LeaveDialog onStay={blocker.reset} onLeave={blocker.proceed} /> : null}
    </BuilderContext>
  );
}
