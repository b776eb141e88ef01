import type { ApiError, Report } from '@player-engagement/client/admin';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState, type ReactNode } from 'react';
import type { DraftState } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange, useKeyOf } from '../../api/queries.ts';
import type { TextIssue } from '../../format/record-texts.ts';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { DUE, type DueKind } from './due-list.tsx';
import css from './insights.module.css';
import { Notices } from './notices.tsx';

/** What an alert and a report have in common. */
type DueRecord = Pick<Report, 'id' | 'name' | 'error' | 'notices'>;

/** A save of {@link useSave}. */
interface Saving<Body> {
  isPending: boolean;
  error: ApiError | null;
  reset: () => void;
  mutateAsync: (
    save:
      | { create: [Body]; idempotency_key: string }
      | { update: [string, Partial<Body>]; if_match: string | undefined },
  ) => Promise<{ data: { id: string } }>;
}

interface EditorProps<Draft, Body> {
  kind: DueKind;
  /** Undefined: a new one. */
  record: DueRecord | undefined;
  /** The tab in the address. */
  tab: string | undefined;
  typed: DraftState<Draft>;
  /** What the form says as the API takes it, and which of its fields are no values. */
  written: { body: Body; issues: readonly TextIssue[] };
  is_ready: boolean;
  save: Saving<Body>;
  /** The fields, with what is wrong in them. */
  fields: (issues: readonly TextIssue[]) => ReactNode;
  /** What follows them. */
  children: ReactNode;
}

/** The field of the API in which a field of a form is. */
const fieldOf = (path: string) => path.split('.', 1)[0] ?? path;

/** The page on which an alert or report is written or read. */
export function DueEditor<Draft extends object, Body extends object>({
  kind,
  record,
  tab,
  typed,
  written: { body, issues },
  is_ready,
  save,
  fields,
  children,
}: EditorProps<Draft, Body>) {
  const { words: m, to } = DUE[kind];
  const navigate = useNavigate();
  const { role } = usePlace();
  const may_edit = useMayEdit();
  const keyOf = useKeyOf();
  const [deletes, setDeletes] = useState(false);
  const changed = [...new Set(Object.keys(typed.changes).map(fieldOf))] as (keyof Body)[];
  const changes = Object.fromEntries(changed.map((field) => [field, body[field]])) as Partial<Body>;
  const submit = async (over = typed.etag) => {
    const request =
      record === undefined
        ? { create: [body] as [Body], idempotency_key: keyOf(body) }
        : { update: [record.id, changes] as [string, Partial<Body>], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    if (record !== undefined) return;
    const { id } = answer.data;
    const search = ({ project }: { project?: string | undefined }) => ({ project, [kind]: id });
    void navigate({ to, search, replace: true, ignoreBlocker: true });
  };
  return (
    <Page
      title={record?.name ?? m.new}
      actions={
        <>
          {may_edit ? (
            <>
              <Button
                kind="primary"
                disabled={save.isPending || !is_ready || (record !== undefined && !typed.dirty)}
                onClick={() => void submit()}
              >
                {record === undefined ? m.create : t.form.save}
              </Button>
              {record === undefined ? null : (
                <Button kind="danger" onClick={() => setDeletes(true)}>
                  {m.delete}
                </Button>
              )}
            </>
          ) : (
            <Badge>{t.form.viewer(role)}</Badge>
          )}
          <Link to={to} search={({ project }) => ({ project })}>
            {m.title}
          </Link>
        </>
      }
    >
      <UnsavedGuard dirty={typed.dirty} leaves={({ search }) => search[kind] !== record?.id} />
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={changes}
        onMine={(newer) => void submit(newer)}
      />
      {record === undefined || record.error === null ? null : (
        <p role="status">
          <Badge tone="bad">{m.failing}</Badge> {m.failed(record.error.message, record.error.failures)}
        </p>
      )}
      <WithAudit
        label={m.one}
        type={kind}
        id={record?.id}
        tab={tab}
        link={(next, props) => <Link {...props} to={to} search={(before) => ({ ...before, tab: next })} />}
      >
        <Form disabled={!may_edit || save.isPending}>
          {fields([...issues, ...(save.error?.issues ?? [])])}
        </Form>
        {children}
        {record === undefined ? null : <Notices of={record} />}
      </WithAudit>
      {deletes && record !== undefined ? (
        <Delete kind={kind} of={record} onClose={() => setDeletes(false)} />
      ) : null}
    </Page>
  );
}

function Delete({ kind, of: { id, name }, onClose }: { kind: DueKind; of: DueRecord; onClose: () => void }) {
  const { words: m, to, remove: operation } = DUE[kind];
  const remove = useChange(operation);
  const navigate = useNavigate();
  const leave = () => void navigate({ to, search: ({ project }) => ({ project }), ignoreBlocker: true });
  return (
    <Confirm
      title={m.deleteTitle(name)}
      verb={m.delete}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() => remove.mutate({ inputs: [id] }, { onSuccess: leave })}
      onClose={onClose}
    >
      <p>{m.deleteHelp}</p>
    </Confirm>
  );
}

/** What would be sent; it is asked by a button, because it reads much. `body`: what is asked then; undefined: nothing can be yet. */
export function DuePreview<Body>({
  kind,
  body,
  children,
}: {
  kind: DueKind;
  body: Body | undefined;
  children: (asked: Body) => ReactNode;
}) {
  const { words: m } = DUE[kind];
  const [asked, setAsked] = useState<Body>();
  return (
    <section className={css['part']} aria-label={m.previewTitle}>
      <div>
        <Button disabled={body === undefined} onClick={() => setAsked(() => body)}>
          {m.preview}
        </Button>
      </div>
      {asked === undefined ? null : children(asked)}
    </section>
  );
}
