import type { InsightMetric } from '@player-engagement/client/admin';
import { getRouteApi, Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useMayEdit, usePlace } from '../../api/place.tsx';
import { useChange, useKeyOf, useSave, type SaveOf } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import type { Currency } from '../../format/money.ts';
import { t } from '../../messages/t.ts';
import { WithAudit } from '../../ui/audit.tsx';
import { Badge } from '../../ui/badge.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { SaveFailure } from '../../ui/conflict.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { UnsavedGuard } from '../../ui/unsaved.tsx';
import { bodyOf, draftOf, newAlert, seriesOf, type AlertDraft, type AlertRecord } from './alert-draft.ts';
import { AlertFields } from './alert-fields.tsx';
import { AlertPreview, Firings } from './alert-firings.tsx';
import { Notices } from './notices.tsx';
import { Receivers } from './receivers.tsx';
import { fieldOf } from './report-draft.ts';

const route = getRouteApi('/insights/alerts');
const m = t.alerts;

interface EditorProps {
  alert?: AlertRecord;
  etag?: string | undefined;
  metrics: readonly InsightMetric[];
  base: Currency;
}

/** What the value of a figure is: that of a metric, or of an event. */
export type FigureUnit = InsightMetric['unit'] | 'event';

/** An alert that is written or read; without one a new alert. */
export function AlertEditor({ alert, etag, metrics, base }: EditorProps) {
  const { tab } = route.useSearch();
  const navigate = route.useNavigate();
  const { role } = usePlace();
  const { user_id } = useSession();
  const may_edit = useMayEdit();
  const save = useSave('alerts.create', 'alerts.update');
  const keyOf = useKeyOf();
  const [deletes, setDeletes] = useState(false);
  const [fresh] = useState(() => newAlert(user_id));
  const unitIn = (query: AlertDraft['query']): FigureUnit => {
    const series = seriesOf(query);
    const metric = series !== undefined && 'metric' in series ? series.metric : undefined;
    return metrics.find(({ name }) => name === metric)?.unit ?? 'event';
  };
  const scaleIn = (query: AlertDraft['query']) => (unitIn(query) === 'money' ? base.scale : undefined);
  const saved = alert === undefined ? fresh : draftOf(alert, scaleIn(alert.query as AlertDraft['query']));
  const typed = useDraft<AlertDraft>(saved, etag);
  const { draft } = typed;
  const { body, issues } = bodyOf(draft, scaleIn(draft.query));
  const changed = [...new Set(Object.keys(typed.changes).map(fieldOf))];
  const changes = Object.fromEntries(changed.map((field) => [field, body[field as keyof typeof body]]));
  const submit = async (over = typed.etag) => {
    const request: SaveOf<typeof save> =
      alert === undefined
        ? { create: [body], idempotency_key: keyOf(body) }
        : { update: [alert.id, changes], if_match: over };
    const answer = await save.mutateAsync(request).catch(() => undefined);
    if (answer === undefined) return;
    typed.reset();
    if (alert !== undefined) return;
    const { id } = answer.data;
    const search = ({ project }: { project?: string | undefined }) => ({ project, alert: id });
    void navigate({ search, replace: true, ignoreBlocker: true });
  };
  const all_issues = [...issues, ...(save.error?.issues ?? [])];
  const is_ready = body.name !== '' && issues.length === 0;
  return (
    <Page
      title={alert?.name ?? m.new}
      actions={
        <>
          {may_edit ? (
            <>
              <Button
                kind="primary"
                disabled={save.isPending || !is_ready || (alert !== undefined && !typed.dirty)}
                onClick={() => void submit()}
              >
                {alert === undefined ? m.create : t.form.save}
              </Button>
              {alert === undefined ? null : (
                <Button kind="danger" onClick={() => setDeletes(true)}>
                  {m.delete}
                </Button>
              )}
            </>
          ) : (
            <Badge>{t.form.viewer(role)}</Badge>
          )}
          <Link to="/insights/alerts" search={({ project }) => ({ project })}>
            {m.title}
          </Link>
        </>
      }
    >
      <UnsavedGuard dirty={typed.dirty} leaves={({ search }) => search['alert'] !== alert?.id} />
      <SaveFailure
        save={save}
        forget={typed.reset}
        changes={changes}
        onMine={(newer) => void submit(newer)}
      />
      {alert?.error === null || alert === undefined ? null : (
        <p role="status">
          <Badge tone="bad">{m.failing}</Badge> {m.failed(alert.error.message, alert.error.failures)}
        </p>
      )}
      <WithAudit
        label={m.one}
        type="alert"
        id={alert?.id}
        tab={tab}
        link={(tab, props) => (
          <Link {...props} to="/insights/alerts" search={(before) => ({ ...before, tab })} />
        )}
      >
        <Form disabled={!may_edit || save.isPending}>
          <AlertFields
            draft={draft}
            unit={unitIn(draft.query)}
            currency={base.code}
            issues={all_issues}
            onChange={typed.change}
          />
          <Receivers
            receivers={draft.receivers}
            issues={all_issues}
            onReceivers={(receivers) => typed.change({ receivers })}
          />
        </Form>
        <AlertPreview body={issues.length === 0 ? body : undefined} />
        {alert === undefined ? null : (
          <>
            <Firings of={alert} query={alert.query as AlertDraft['query']} />
            <Notices of={alert} />
          </>
        )}
      </WithAudit>
      {deletes && alert !== undefined ? <Delete of={alert} onClose={() => setDeletes(false)} /> : null}
    </Page>
  );
}

function Delete({ of: { id, name }, onClose }: { of: AlertRecord; onClose: () => void }) {
  const remove = useChange('alerts.delete');
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
