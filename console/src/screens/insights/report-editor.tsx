import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange, useKeyOf, useSave, type SaveOf } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Choice } from '../../ui/choice.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Form, Row } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Input, issueAt, optionsOf, Select } from '../../ui/record-field.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { Notices } from './notices.tsx';
import { useDashboards } from './queries.ts';
import { Receivers } from './receivers.tsx';
import { bodyOf, draftOf, fieldOf, newReport, type ReportDraft, type ReportRecord } from './report-draft.ts';

const route = getRouteApi('/insights/reports');
const m = t.reports;

/** A report that is written or read; without one a new report. */
export function ReportEditor({ report, etag }: { report?: ReportRecord; etag?: string | undefined }) {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const { role } = usePlace();
  const { user_id } = useSession();
  const may_edit = useMayEdit();
  const save = useSave('reports.create', 'reports.update');
  const keyOf = useKeyOf();
  const [deletes, setDeletes] = useState(false);
  const [fresh] = useState(() => newReport(user_id));
  const typed = useDraft<ReportDraft>(report === undefined ? fresh : draftOf(report), etag);
  const { body, issues } = bodyOf(typed.draft);
  const changed = [...new Set(Object.keys(typed.changes).map(fieldOf))];
  const changes = Object.fromEntries(changed.map((field) => [field, body[field as keyof typeof body]]));
  const submit = async (over = typed.etag) => {
    const request: SaveOf<typeof save> =
      report === undefined
        ? { create: [body], idempotency_key: keyOf(body) }
        : { update: [report.id, changes], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    if (report !== undefined) return;
    const { id } = answer.data;
    const search = ({ project }: { project?: string | undefined }) => ({ project, report: id });
    void navigate({ search, replace: true, ignoreBlocker: true });
  };
  const is_ready = body.name !== '' && body.dashboard_id !== '' && issues.length === 0;
  return (
    <Page
      title={report?.name ?? m.new}
      actions={
        <>
          {may_edit ? (
            <>
              <Button
                kind="primary"
                disabled={save.isPending || !is_ready || (report !== undefined && !typed.dirty)}
                onClick={() => void submit()}
              >
                {report === undefined ? m.create : t.form.save}
              </Button>
              {report === undefined ? null : (
                <Button kind="danger" onClick={() => setDeletes(true)}>
                  {m.delete}
                </Button>
              )}
            </>
          ) : (
            <Badge>{t.form.viewer(role)}</Badge>
          )}
          <Link to="/insights/reports" search={({ project }) => ({ project })}>
            {m.title}
          </Link>
        </>
      }
    >
      <UnsavedGuard dirty={typed.dirty} leaves={({ search }) => search['report'] !== report?.id} />
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={changes}
        onMine={(newer) => void submit(newer)}
      />
      {report?.error === null || report === undefined ? null : (
        <p role="status">
          <Badge tone="bad">{m.failing}</Badge> {m.failed(report.error.message, report.error.failures)}
        </p>
      )}
      <WithAudit
        label={m.one}
        type="report"
        id={report?.id}
        tab={tab}
        link={(tab, props) => (
          <Link {...props} to="/insights/reports" search={(before) => ({ ...before, tab })} />
        )}
      >
        <Fields
          draft={typed.draft}
          issues={[...issues, ...(save.error?.issues ?? [])]}
          disabled={!may_edit || save.isPending}
          onChange={typed.change}
        />
        {report === undefined ? null : <Notices of={report} />}
      </WithAudit>
      {deletes && report !== undefined ? <Delete of={report} onClose={() => setDeletes(false)} /> : null}
    </Page>
  );
}

interface FieldsProps {
  draft: ReportDraft;
  issues: readonly { path: string; message: string }[];
  disabled: boolean;
  onChange: (changes: Partial<ReportDraft>) => void;
}

function Fields({ draft, issues, disabled, onChange }: FieldsProps) {
  const { timezone } = usePlace();
  const { dashboard_id, receivers, ...texts } = draft;
  const form = { texts, issues, change: (change: object) => onChange(change) };
  const every = draft['schedule.every'];
  return (
    <Form disabled={disabled}>
      <Row>
        <Input form={form} path="name" label={m.fields.name} />
        <Choice
          label={m.fields.dashboard}
          pages={useDashboards()}
          value={dashboard_id}
          none={m.noDashboard}
          keyOf={({ id }) => id}
          nameOf={({ name }) => name}
          error={issueAt(form, 'dashboard_id')}
          onChange={(id) => onChange({ dashboard_id: id })}
        />
        <Select form={form} path="is_enabled" label={m.fields.enabled} options={optionsOf(m.enabled)} />
      </Row>
      <Row>
        <Select form={form} path="schedule.every" label={m.fields.every} options={optionsOf(m.every)} />
        {every === 'week' ? (
          <Select
            form={form}
            path="schedule.weekday"
            label={m.fields.weekday}
            options={optionsOf(m.weekdays)}
          />
        ) : null}
        {every === 'month' ? (
          <Input
            form={form}
            path="schedule.day"
            label={m.fields.day}
            hint={m.dayHint}
            mode="numeric"
            max={2}
          />
        ) : null}
        <Input
          form={form}
          path="schedule.hour"
          label={m.fields.hour}
          hint={m.hourHint(timezone)}
          mode="numeric"
          max={2}
        />
      </Row>
      <Receivers
        receivers={receivers}
        issues={issues}
        onReceivers={(next) => onChange({ receivers: next })}
      />
    </Form>
  );
}

function Delete({ of: { id, name }, onClose }: { of: ReportRecord; onClose: () => void }) {
  const remove = useChange('reports.delete');
  const navigate = route.useNavigate();
  return (
    <Confirm
      title={m.deleteTitle(name)}
      verb={m.delete}
      busy={remove.isPending}
      error={remove.error}
      onConfirm={() =>
        remove.mutate(
          { inputs: [id] },
          { onSuccess: () => void navigate({ search: ({ project }) => ({ project }), ignoreBlocker: true }) },
        )
      }
      onClose={onClose}
    >
      <p>{m.deleteHelp}</p>
    </Confirm>
  );
}
