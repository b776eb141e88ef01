import type { CreateReportBody } from '@player-engagement/client/admin';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { useDraft } from '../../api/draft.ts';
import { usePlace } from '../../api/place.tsx';
import { useRead, useSave } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Time } from '../../format/zone.tsx';
import { t } from '../../messages/t.ts';
import { Choice } from '../../ui/choice.tsx';
import { Facts } from '../../ui/facts.tsx';
import { Row } from '../../ui/form.tsx';
import { Input, issueAt, optionsOf, Select } from '../../ui/record-field.tsx';
import { Answered } from '../../ui/states.tsx';
import { DueEditor, DuePreview } from './due-editor.tsx';
import { useDashboards } from './queries.ts';
import { Receivers } from './receivers.tsx';
import { bodyOf, draftOf, newReport, type ReportDraft, type ReportRecord } from './report-draft.ts';

const route = getRouteApi('/insights/reports');
const m = t.reports;

/** A report that is written or read; without one a new report. */
export function ReportEditor({ report, etag }: { report?: ReportRecord; etag?: string | undefined }) {
  const { user_id } = useSession();
  const [fresh] = useState(() => newReport(user_id));
  const typed = useDraft<ReportDraft>(report === undefined ? fresh : draftOf(report), etag);
  const written = bodyOf(typed.draft);
  const { body, issues } = written;
  const is_ready = body.name !== '' && body.dashboard_id !== '' && issues.length === 0;
  return (
    <DueEditor
      kind="report"
      record={report}
      tab={route.useSearch().tab}
      typed={typed}
      written={written}
      is_ready={is_ready}
      save={useSave('reports.create', 'reports.update')}
      fields={(all_issues) => <Fields draft={typed.draft} issues={all_issues} onChange={typed.change} />}
    >
      <DuePreview kind="report" body={is_ready ? body : undefined}>
        {(asked) => <Previewed body={asked} />}
      </DuePreview>
    </DueEditor>
  );
}

/** The message as text: what else it has, the pictures of its charts, the dashboard shows as well. */
function Previewed({ body: { name, dashboard_id, schedule } }: { body: CreateReportBody }) {
  const asked = useRead('reports.preview', [{ name, dashboard_id, schedule }]);
  return (
    <Answered asked={asked} what={m.previewLoading}>
      {({ data: { times, subject, text } }) => (
        <>
          <Facts
            label={m.previewTitle}
            facts={[
              [m.subject, <bdi key="subject">{subject}</bdi>],
              [m.nextTime, <Time key="next" at={times[0] ?? null} />],
            ]}
          />
          <pre tabIndex={0} role="group" aria-label={m.message}>
            {text}
          </pre>
        </>
      )}
    </Answered>
  );
}

interface FieldsProps {
  draft: ReportDraft;
  issues: readonly { path: string; message: string }[];
  onChange: (changes: Partial<ReportDraft>) => void;
}

function Fields({ draft, issues, onChange }: FieldsProps) {
  const { timezone } = usePlace();
  const { dashboard_id, receivers, ...texts } = draft;
  const form = { texts, issues, change: (change: object) => onChange(change) };
  const every = draft['schedule.every'];
  return (
    <>
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
    </>
  );
}
