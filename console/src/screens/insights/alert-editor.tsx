import type { InsightMetric } from '@player-engagement/client/admin';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { useSave } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import type { Currency } from '../../format/money.ts';
import { bodyOf, draftOf, newAlert, seriesOf, type AlertDraft, type AlertRecord } from './alert-draft.ts';
import { AlertFields } from './alert-fields.tsx';
import { AlertPreview, Firings } from './alert-firings.tsx';
import { DueEditor } from './due-editor.tsx';
import { Receivers } from './receivers.tsx';

const route = getRouteApi('/insights/alerts');

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
  const { user_id } = useSession();
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
  const written = bodyOf(draft, scaleIn(draft.query));
  const { body, issues } = written;
  return (
    <DueEditor
      kind="alert"
      record={alert}
      tab={route.useSearch().tab}
      typed={typed}
      written={written}
      is_ready={body.name !== '' && issues.length === 0}
      save={useSave('alerts.create', 'alerts.update')}
      fields={(all_issues) => (
        <>
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
        </>
      )}
    >
      <AlertPreview body={issues.length === 0 ? body : undefined} />
      {alert === undefined ? null : <Firings of={alert} query={alert.query as AlertDraft['query']} />}
    </DueEditor>
  );
}
